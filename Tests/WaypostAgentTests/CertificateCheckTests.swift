import Foundation
import MQTTLink
import TestSupport
import Testing

@testable import WaypostAgent

@Suite struct `Certificate watch` {
    private static let day: Int64 = 86_400

    @Test(
        arguments: [
            (20, true, "the broker's expires in 20 days"),
            (14, true, "the broker's expires in 14 days"),
            (13, false, "the broker's expires in 13 days; renew it"),
            (0, false, "the broker's has expired; renew it"),
            (-1, false, "the broker's has expired; renew it"),
        ] as [(Int64, Bool, String)])
    func `it complains from two weeks before the end`(_ days: Int64, _ isOK: Bool, _ detail: String) {
        let certificate = Certificate(subject: "/CN=broker", notAfter: (1_000 + days) * Self.day)
        let finding = CertificateCheck(file: nil).finding(broker: certificate, at: 1_000 * Self.day * 1_000)
        #expect(finding?.isOK == isOK)
        #expect(finding?.detail == detail)
    }

    @Test func `one that is to come is not valid yet`() {
        let certificate = Certificate(subject: "/CN=broker", notBefore: 20, notAfter: .max)
        #expect(CertificateCheck(file: nil).finding(broker: certificate, at: 10_000)?.isOK == false)
    }

    @Test func `without certificates there is nothing to say, and a missing file is named`() throws {
        #expect(CertificateCheck(file: nil).finding(broker: nil, at: 0) == nil)
        let missing = CertificateCheck(file: "/nonexistent.pem").finding(broker: nil, at: 0)
        #expect(missing?.isOK == false)
        #expect(missing?.detail == "own: no certificate in /nonexistent.pem")
    }

    @Test func `one is due after the part of its life that is set, and made once at a time`() {
        let certificate = Certificate(subject: "/CN=k1", notBefore: 1_000, notAfter: 2_000)
        var renewal = CertificateRenewal(share: 66, canMake: true)
        #expect(renewal.due(certificate) == 1_660_000)
        #expect(renewal.look(certificate, [nil, nil], at: 1_659_999, 0) == nil)
        #expect(renewal.look(nil, [nil, nil], at: 1_660_000, 0) == nil)
        #expect(renewal.look(certificate, [nil, nil], at: 1_660_000, 0) == .make)
        #expect(renewal.look(certificate, [nil, nil], at: 1_660_000, 100_000) == nil)
        renewal.ended(nil)
        // A twentieth of its life later.
        #expect(renewal.look(certificate, [nil, nil], at: 1_660_000, 49_999) == nil)
        #expect(renewal.look(certificate, [nil, nil], at: 1_660_000, 50_000) == .make)
        var other = CertificateRenewal(share: 66, canMake: false)
        #expect(other.look(certificate, [nil, nil], at: 3_000_000, 0) == nil)
        #expect(other.due(Certificate(subject: "", notBefore: 0, notAfter: .max)) == 9_999_999_999_000)
    }

    @Test func `a newer one is tried when it comes, when it changes, and later again`() throws {
        let certificate = Certificate(subject: "/CN=k1", notBefore: 1_000, notAfter: 2_000)
        let one = FileMark("/dev/null")
        let other = FileMark("/dev")
        #expect(one != nil && other != nil)
        var renewal = CertificateRenewal(share: 66, canMake: true)
        #expect(renewal.look(certificate, [one, nil], at: 0, 0) == .tryOut)
        #expect(renewal.look(certificate, [other, nil], at: 0, 0) == nil)
        renewal.ended(CertificateRenewal.Outcome(at: 0, isOK: false, detail: "refused"))
        #expect(renewal.last?.isOK == false)
        #expect(renewal.look(certificate, [one, nil], at: 0, 49_999) == nil)
        #expect(renewal.look(certificate, [other, nil], at: 0, 0) == .tryOut)
        renewal.ended(nil)
        #expect(renewal.look(certificate, [other, nil], at: 0, 50_000) == .tryOut)
        renewal.ended(nil)
        // What is kept out does not stand in the way of the next.
        #expect(renewal.look(certificate, [other, nil], at: 1_700_000, 50_001) == .make)
    }

    /// The files of one in use, which ends in 30 days, and of one that ends later, `next`.
    private func pairs(
        _ body: (TestCertificates, CertificateFiles) throws -> Void
    ) async throws {
        let certificates = try await offThePool {
            let certificates = try TestCertificates()
            try certificates.issueClient("next", from: -60, to: 90 * 86_400)
            return certificates
        }
        defer { certificates.remove() }
        for end in ["key", "pem"] {
            try certificates.copy("client.\(end)", to: "own.\(end)")
            try certificates.copy("next.\(end)", to: "own.\(end).new")
        }
        try body(
            certificates, CertificateFiles(certificate: certificates["own.pem"], key: certificates["own.key"])
        )
    }

    private let disk = FileDisk()

    @Test func `a new one takes the place of the old`() async throws {
        try await pairs { (certificates, files) throws in
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: files.newKey)
            #expect(throws: CertificateFault.self) { try files.checkNew(on: disk) }
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: files.newKey)
            try files.checkNew(on: disk)
            #expect(throws: CertificateFault.self) { try files.swap([nil, nil], on: disk) }
            #expect(files.keyOfNew(on: disk) == files.newKey)
            try files.swap(files.newMarks(on: disk), on: disk)
            #expect(files.keyOfNew(on: disk) == files.key && disk.mark(of: files.newCertificate) == nil)
            #expect(disk.fits(files.certificate, key: files.key) == true)
            #expect(Certificate.inFile(files.certificate) == Certificate.inFile(certificates["next.pem"]))
            #expect(throws: CertificateFault.self) { try files.checkNew(on: disk) }
            // One that ends no later is none.
            try certificates.copy("next.pem", to: "own.pem.new")
            #expect(throws: CertificateFault.self) { try files.checkNew(on: disk) }
        }
    }

    @Test func `a new one of the same key is taken, whatever key an earlier one left there`() async throws {
        try await pairs { (certificates, files) throws in
            try certificates.copy("next.key", to: "own.key")
            for other in ["elsewhere.key", "ca.pem"] {
                try certificates.copy(other, to: "own.key.new")
                #expect(files.keyOfNew(on: disk) == files.key)
            }
            try files.swap(files.newMarks(on: disk), on: disk)
            #expect(disk.fits(files.certificate, key: files.key) == true)
            #expect(disk.mark(of: files.newKey) != nil && disk.mark(of: files.newCertificate) == nil)
        }
    }

    @Test(arguments: [true, false])
    func `after an end between its key and itself the pair is whole at the next start`(isKeyMoved: Bool)
        async throws
    {
        try await pairs { (certificates, files) throws in
            // Where nothing was moved there is nothing to finish.
            let isUnfinished = try files.finishSwap(on: disk)
            #expect(!isUnfinished && disk.mark(of: files.newKey) != nil)
            let (new, place) =
                isKeyMoved ? (files.newKey, files.key) : (files.newCertificate, files.certificate)
            #expect(rename(new, place) == 0)
            #expect(disk.fits(files.certificate, key: files.key) == false)
            let isFinished = try files.finishSwap(on: disk)
            #expect(isFinished && disk.fits(files.certificate, key: files.key) == true)
            #expect(Certificate.inFile(files.certificate) == Certificate.inFile(certificates["next.pem"]))
            #expect(files.newMarks(on: disk) == [nil, nil])
        }
    }

    @Test func `what can't be read, or belongs to nothing, takes no place at a start`() async throws {
        try await pairs { (certificates, files) throws in
            try certificates.copy("elsewhere.key", to: "own.key")
            try certificates.copy("server.key", to: "own.key.new")
            #expect(disk.fits(files.certificate, key: files.key) == false)
            let hasMoved = try files.finishSwap(on: disk)
            try Data().write(to: URL(fileURLWithPath: files.certificate))
            try certificates.copy("next.key", to: "own.key")
            #expect(disk.fits(files.certificate, key: files.key) == nil)
            let hasMovedOther = try files.finishSwap(on: disk)
            #expect(!hasMoved && !hasMovedOther && disk.mark(of: files.newCertificate) != nil)
        }
    }

    @Test func `the agent's own is read from its file each time`() async throws {
        let certificates = try await offThePool { try TestCertificates() }
        defer { certificates.remove() }
        try certificates.copy("client.pem", to: "own.pem")
        let watch = CertificateCheck(file: certificates["own.pem"])
        let now = try #require(Certificate.inFile(certificates["client.pem"]).first).notBefore * 1_000
        #expect(watch.finding(broker: nil, at: now)?.detail == "own expires in 30 days")
        try certificates.copy("expired.pem", to: "own.pem")
        #expect(watch.finding(broker: nil, at: now)?.detail == "own has expired; renew it")
    }
}
