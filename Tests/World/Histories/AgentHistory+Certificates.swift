import MQTTLink
import Threading
import Waypost
import WaypostAgent

/// What an agent does with its certificate, and what is done to that meanwhile.
extension AgentHistory {
    /// By the broker's clock, in seconds since 1970.
    private var brokerTime: Int64 { (scheduler.clock.wall - scheduler.clock.error) / 1_000 }

    // MARK: What the agent's links find

    /// An agent that is about to connect has a certificate and a key that its broker took: law 8.
    func checkInUse() {
        guard let (certificate, key) = certificates?.inUse else { return }
        sees { people throws(People.Breach) in
            guard let found = WorldCertificate(certificate), people.certificates.isAccepted(certificate, key)
            else {
                throw People.Breach(
                    law: 8, text: "it starts with \(certificate ?? "none") and \(key ?? "none")")
            }
            people.certificates.uses(found)
        }
    }

    /// The agent has put one file in the place of another: law 8.
    func moved(isKey: Bool) {
        guard let certificates else { return }
        let (certificate, key) = certificates.inUse
        let newer = certificates.text(certificates.paths.newCertificate)
        sees { people throws(People.Breach) in
            let isTaken = people.certificates.isAccepted(certificate, key)
            guard isTaken || isKey && people.certificates.isAccepted(newer, key) else {
                throw People.Breach(
                    law: 8,
                    text: "no broker took what it puts in use: \(certificate ?? "none"), \(key ?? "none")")
            }
            if isTaken, let found = WorldCertificate(certificate) { people.certificates.uses(found) }
        }
    }

    /// Why the broker does not take the connection that a link is about to make; nil when it does.
    func refuses(_ configuration: MQTTLinkConfiguration) -> DisconnectReason.Cause? {
        guard let certificates, let tls = configuration.tls else { return nil }
        let isTrial = configuration.clientID != "k1"
        let trouble = isTrial ? trouble() : nil
        if let trouble, meets(trouble) { return .network(code: 111, text: "Connection refused") }
        let certificate = certificates.text(tls.certificateFile ?? "")
        let key = certificates.text(tls.keyFile ?? "") ?? ""
        let found = WorldCertificate(certificate)
        let refusal = found.map { $0.refusal(with: key, at: brokerTime) } ?? "no start line"
        scheduler.note("signs in with \(certificate ?? "nothing"), \(key): \(refusal ?? "good")")
        sees { people throws(People.Breach) in
            if refusal == nil {
                if isTrial { people.certificates.accept(certificate, key) }
            } else if isTrial {
                people.certificates.refuse(found?.number)
            } else {
                throw People.Breach(law: 8, text: "its certificate is no good any more: \(refusal ?? "")")
            }
        }
        if !isTrial { signedIn.withLock { $0 = certificate } }
        // What was read is tried, whatever comes now.
        if case .another(let kind) = trouble { put(kind) }
        return refusal.map { .tls($0) }
    }

    private func trouble() -> CertificateDeeds.Trouble? {
        switch rest.withLock(\.self) {
        case .none: certificateDeeds.withLock { $0.trouble(mayEnd: life.mayEnd) }
        case .withoutBroker: .unreachable
        case .healed: nil
        }
    }

    /// True when the broker is not there.
    private func meets(_ trouble: CertificateDeeds.Trouble) -> Bool {
        scheduler.note("\(trouble)")
        switch trouble {
        case .cut: meet(.cut, 0)
        case .broker(let isKilled): meet(.broker, isKilled ? 1 : 0)
        case .unreachable:
            people.withLock { $0.meets(.cut) }
            rest.withLock { if $0 == .withoutBroker { $0 = .healed } }
            return true
        case .power: scheduler.crash()
        case .swap(let steps): certificates?.die(after: steps)
        case .sync: meet(.sync, 0)
        case .clock(let error): meet(.clock, error)
        case .another: break
        }
        return false
    }

    // MARK: What comes beside the one in use

    /// Puts one there; its number.
    @discardableResult
    func put(_ kind: SentCertificates.Kind) -> Int {
        guard let certificates else { return 0 }
        let number = people.withLock { people in
            people.certificates.isTrying = ![.expired, .older, .open, .half].contains(kind)
            return people.certificates.next()
        }
        let manner = certificateDeeds.withLock { $0.manner() }
        let now = brokerTime
        // Each ends later than all before it.
        let end = SeededScheduler.wallStart / 1_000 + 6_000 + Int64(number) * 600
        let inUse = WorldCertificate(certificates.inUse.certificate)
        let certificate =
            switch kind {
            case .sameKey: WorldCertificate(number, key: inUse?.key ?? 0, now - 60, end)
            case .expired: WorldCertificate(number, key: number, now - 60, now - 1)
            case .future: WorldCertificate(number, key: number, now + 60 + Int64(number % 5) * 60, end)
            case .stranger: WorldCertificate(number, key: number, now - 60, end, isTrusted: false)
            case .older: WorldCertificate(number, key: number, now - 60, (inUse?.notAfter ?? now) - 60)
            default: WorldCertificate(number, key: number, now - 60, end)
            }
        let key = WorldCertificate.key(kind == .wrongKey ? number + 1_000 : number)
        scheduler.note("put beside it, \(kind): \(certificate.text)")
        let (newKey, newCertificate) = (certificates.paths.newKey, certificates.paths.newCertificate)
        half.withLock { $0 = nil }
        func write(_ path: String, _ text: String, isHalf: Bool = false, isOpen: Bool = false) {
            certificates.put(
                path, isHalf ? String(text.prefix(text.count / 2)) : text, isOpen: isOpen,
                inPlace: manner.isInPlace, syncs: manner.syncs)
            if isHalf { half.withLock { $0 = (path, text) } }
        }
        switch kind {
        // What an earlier one left there stays.
        case .sameKey: break
        case .keyLater: half.withLock { $0 = (newKey, key) }
        default: write(newKey, key, isHalf: kind == .halfKey)
        }
        write(newCertificate, certificate.text, isHalf: kind == .half, isOpen: kind == .open)
        return number
    }

    /// What was written in part is whole.
    func completeCertificate() {
        guard
            let (path, text) = half.withLock({ half in
                defer { half = nil }
                return half
            })
        else { return }
        scheduler.note("whole: \(text)")
        certificates?.put(path, text, inPlace: true, syncs: false)
        people.withLock { $0.certificates.isTrying = true }
    }

    /// The agent's own program.
    func makeCertificate() async throws {
        let (kind, pause) = certificateDeeds.withLock { $0.made() }
        try await MonotonicTime.sleep(for: .milliseconds(Int64(pause)))
        guard rest.withLock({ $0 == .none }), let kind else { return }
        put(kind)
    }

    // MARK: When nothing fails any more

    /// A good one is taken in the end, and a bad one is kept out; the agent's health says both.
    func renewCertificate(_ sender: WorldClient) throws {
        guard let certificates else { return }
        let isAway = certificateDeeds.withLock { $0.isAwayAtRest() }
        rest.withLock { $0 = isAway ? .withoutBroker : .healed }
        setClock(off: 0)
        completeCertificate()
        if isAway { put(.good) }
        let newer = certificates.text(certificates.paths.newCertificate)
        if isGood(newer) {
            try wait(900, sender, or: .notTaken(newer ?? "")) { _ in certificates.inUse.certificate == newer }
        }
        let bad = put(.stranger)
        try wait(180, sender, or: .untold(bad)) { $0.certificates.toldRefused.contains(bad) }
        let good = put(.good)
        let text = certificates.text(certificates.paths.newCertificate) ?? ""
        try wait(180, sender, or: .notTaken(text)) { _ in
            certificates.inUse.certificate == text && signedIn.withLock { $0 == text }
        }
        try wait(180, sender, or: .untold(good)) { $0.certificates.isTold }
    }

    /// Whether what lies beside the one in use is to be taken.
    private func isGood(_ newer: String?) -> Bool {
        guard let certificates, let found = WorldCertificate(newer),
            let inUse = WorldCertificate(certificates.inUse.certificate),
            let key = certificates.inUse.key
        else { return false }
        let newKey = certificates.text(certificates.paths.newKey) ?? key
        return [key, newKey].contains { found.refusal(with: $0, at: brokerTime) == nil }
            && found.notAfter > inUse.notAfter
            && !certificates.canOthersWrite(certificates.paths.newCertificate)
    }

    private func wait(
        _ seconds: Int64, _ sender: WorldClient, or breach: Breach, until isSo: (People) -> Bool
    ) throws {
        let limit = MonotonicTime.after(.seconds(seconds))
        while !people.withLock({ isSo($0) }) {
            guard MonotonicTime.now < limit else { throw breach }
            try take(from: sender, for: .seconds(1), unless: isSo)
        }
    }
}
