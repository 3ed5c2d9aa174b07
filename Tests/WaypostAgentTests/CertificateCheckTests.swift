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
