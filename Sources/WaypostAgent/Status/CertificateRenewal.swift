import MQTTLink
import WaypostMessages

/// When the agent's own certificate is due, and what became of a newer one: decisions only.
///
/// A newer one is tried on a connection of its own before it takes the place of the one in use, and otherwise stays where it
/// is: an agent that can reach its broker never loses that by a certificate that its broker refuses.
struct CertificateRenewal: Sendable {
    /// What the caller has to do; ``ended(_:)`` follows.
    enum Step: Sendable, Equatable {
        /// Have a newer certificate made.
        case make
        /// Try the one that is there.
        case tryOut
    }

    /// What became of it.
    struct Outcome: Sendable, Equatable {
        /// In milliseconds since 1970.
        var at: Int64
        var isOK: Bool
        var detail: String
    }

    /// How long it pauses between two tries, in milliseconds: a twentieth of the certificate's life, within these.
    private static let pauses: ClosedRange<Int64> = 10_000...3_600_000

    /// Which part of its life a certificate is used before it is due, in percent.
    let share: Int
    /// Whether a program makes newer ones.
    let canMake: Bool
    private var isBusy = false
    private var tried: (mark: [FileMark?], at: Int64)?
    private var made: Int64?
    /// The last try.
    private(set) var last: Outcome?

    init(share: Int, canMake: Bool) { (self.share, self.canMake) = (share, canMake) }

    /// Looks at the files.
    ///
    /// - Parameters:
    ///   - own: The certificate in use; nil when it can't be read, or the clock can't be trusted.
    ///   - marks: Those of the newer certificate and its key.
    ///   - now: In milliseconds since 1970.
    ///   - monotonic: The same moment on the monotonic clock.
    mutating func look(_ own: Certificate?, _ marks: [FileMark?], at now: Int64, _ monotonic: Int64) -> Step?
    {
        guard !isBusy else { return nil }
        let pause = Self.pause(of: own)
        let isThere = marks.first.flatMap(\.self) != nil
        if isThere, tried?.mark != marks { return tryOut(marks, monotonic) }
        if canMake, let own, now >= due(own), made.map({ monotonic - $0 >= pause }) ?? true {
            (isBusy, made) = (true, monotonic)
            return .make
        }
        // Perhaps it was the broker that was not there.
        if isThere, let tried, monotonic - tried.at >= pause { return tryOut(marks, monotonic) }
        return nil
    }

    private mutating func tryOut(_ marks: [FileMark?], _ monotonic: Int64) -> Step {
        (isBusy, tried) = (true, (marks, monotonic))
        return .tryOut
    }

    /// When a certificate is due, in milliseconds since 1970.
    func due(_ certificate: Certificate) -> Int64 {
        let (begin, end) = (Double(certificate.notBefore), Double(certificate.notAfter))
        return Int64(min(begin + (end - begin) * Double(share) / 100, Double(Fields.latestTime / 1_000)))
            * 1_000
    }

    private static func pause(of certificate: Certificate?) -> Int64 {
        guard let certificate else { return pauses.lowerBound }
        let life = certificate.notAfter.subtracting(clamping: certificate.notBefore)
        return min(max(life / 20, pauses.lowerBound / 1_000), pauses.upperBound / 1_000) * 1_000
    }

    /// A step has ended; nil where there is nothing to say of it.
    mutating func ended(_ outcome: Outcome?) {
        isBusy = false
        if let outcome { last = outcome }
    }
}

extension CertificateFiles {
    /// Those of the newer certificate and its key.
    func newMarks(on disk: any CertificateDisk) -> [FileMark?] {
        [disk.mark(of: newCertificate), disk.mark(of: newKey)]
    }

    /// The key that the newer certificate belongs to; what lies beside the one in use may be of an earlier one.
    func keyOfNew(on disk: any CertificateDisk) -> String {
        [newKey, key].first { disk.fits(newCertificate, key: $0) == true }
            ?? (disk.mark(of: newKey) != nil ? newKey : key)
    }

    /// - Throws: ``CertificateFault`` when the newer one is none, or could be anybody's.
    func checkNew(on disk: any CertificateDisk) throws(CertificateFault) {
        guard let new = disk.certificate(in: newCertificate) else {
            throw CertificateFault(text: "there is no certificate in it")
        }
        for path in Set([newCertificate, keyOfNew(on: disk)]) where disk.canOthersWrite(path) {
            throw CertificateFault(text: "others may write \(path): chmod go-w")
        }
        if let old = disk.certificate(in: certificate), new.notAfter <= old.notAfter {
            throw CertificateFault(text: "it ends no later than the one in use")
        }
    }

    /// The newer one takes the place of the one in use.
    ///
    /// Both are durable before the first is moved, and the key goes first. Where the machine ends before the other has followed,
    /// ``finishSwap(on:)`` is for the next start.
    ///
    /// - Parameter marks: those of what was tried.
    func swap(_ marks: [FileMark?], on disk: any CertificateDisk) throws(CertificateFault) {
        guard newMarks(on: disk) == marks else {
            throw CertificateFault(text: "it changed while it was tried")
        }
        let hasKey = keyOfNew(on: disk) == newKey
        // What others wrote may not be on the disk yet.
        for path in (hasKey ? [newKey] : []) + [newCertificate] {
            try disk.sync(path)
            try disk.sync(Self.folder(of: path))
        }
        if hasKey { try disk.move(newKey, to: key) }
        try disk.move(newCertificate, to: certificate)
        syncFolders(on: disk)
    }

    /// Of two that belong together one may have taken its place before the machine ended: the other one follows.
    ///
    /// - Returns: whether it did.
    func finishSwap(on disk: any CertificateDisk) throws(CertificateFault) -> Bool {
        guard disk.fits(certificate, key: key) == false else { return false }
        if disk.fits(newCertificate, key: key) == true {
            try disk.move(newCertificate, to: certificate)
        } else if disk.fits(certificate, key: newKey) == true {
            try disk.move(newKey, to: key)
        } else {
            return false
        }
        syncFolders(on: disk)
        return true
    }

    /// What was moved has been moved, whether that is durable or not.
    private func syncFolders(on disk: any CertificateDisk) {
        for path in [key, certificate] { try? disk.sync(Self.folder(of: path)) }
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    }
}
