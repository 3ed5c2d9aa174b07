import Logging
import MQTTLink
import Threading
import Waypost
import WaypostMessages

extension Agent {
    /// How long a broker may take to take a new certificate.
    private static let trial = Duration.seconds(20)

    private var certificateFiles: CertificateFiles? {
        let tls = reloadable.withLock(\.configuration.link.tls)
        guard let certificate = tls?.certificateFile, let key = tls?.keyFile else { return nil }
        return CertificateFiles(certificate: certificate, key: key)
    }

    /// What an end of the machine left of a swap is done, before anything connects.
    func finishCertificateSwap() {
        guard let files = certificateFiles else { return }
        do {
            guard try files.finishSwap(on: certificateDisk) else { return }
            logger.notice(
                "\(files.certificate) and \(files.key) are a pair again, as an earlier run had tried it")
        } catch {
            logger.error("\(error)")
        }
    }

    /// Looks whether a newer certificate has come, or is due; it waits for neither.
    ///
    /// - Returns: what is done about it.
    func checkCertificate() -> Task<Void, Never>? {
        guard let files = certificateFiles else { return nil }
        let now = clock.wall()
        let own = clockMonitor.isCorrect(at: now) ? certificateDisk.certificate(in: files.certificate) : nil
        let marks = files.newMarks(on: certificateDisk)
        let step = renewal.withLock { $0.look(own, marks, at: now, clock.monotonic()) }
        guard let step else { return nil }
        return AgentThreads.start { [self] in
            let outcome =
                switch step {
                case .make: await makeCertificate(files)
                case .tryOut: await tryCertificate(files, marks)
                }
            renewal.withLock { $0.ended(outcome) }
            if outcome != nil, !runs.isStopping { publishHealth() }
        }
    }

    private func makeCertificate(_ files: CertificateFiles) async -> CertificateRenewal.Outcome? {
        guard let make = configuration.renewCertificate else { return nil }
        do {
            logger.notice("the certificate \(files.certificate) is due; a newer one is made")
            try await make(files)
            guard certificateDisk.mark(of: files.newCertificate) == nil else { return nil }
            throw CertificateFault(text: "there is no \(files.newCertificate) after it")
        } catch {
            let reason = (error as? CertificateFault)?.text ?? error.words
            return keptOut("no newer certificate was made: \(reason)")
        }
    }

    private func tryCertificate(
        _ files: CertificateFiles, _ marks: [FileMark?]
    ) async -> CertificateRenewal.Outcome? {
        do {
            try files.checkNew(on: certificateDisk)
            try await connect(with: files)
            try files.swap(marks, on: certificateDisk)
        } catch {
            let reason = (error as? CertificateFault)?.text ?? error.words
            return keptOut("\(files.newCertificate) is kept out: \(reason)")
        }
        logger.notice(
            "\(files.certificate) is a new certificate, which the broker took; reconnecting with it")
        let (link, tls, credentials) = reloadable.withLock { reloadable in
            let link = reloadable.change(to: reloadable.configuration)
            return (link, reloadable.configuration.link.tls, reloadable.configuration.link.credentials)
        }
        link?.renew(credentials: credentials, tls: tls)
        reporter.log(.info, "Agent", "the certificate was renewed")
        return CertificateRenewal.Outcome(at: clock.wall(), isOK: true, detail: "renewed")
    }

    /// Under a name of its own, for the broker ends an older connection with the same, and with nothing to read there.
    private func connect(with files: CertificateFiles) async throws {
        var trial = reloadable.withLock(\.configuration.link)
        trial.clientID = "\(configuration.agent)-renew"
        (trial.cleanStart, trial.sessionExpiry, trial.subscriptions) = (true, 0, [])
        trial.tls?.certificateFile = files.newCertificate
        trial.tls?.keyFile = files.keyOfNew(on: certificateDisk)
        let session = try await MQTTSession.connect(trial, within: Self.trial, over: makeLink)
        await session.disconnect()
    }

    private func keptOut(_ detail: String) -> CertificateRenewal.Outcome? {
        // It is not the certificate's fault that the agent stops.
        guard !runs.isStopping else { return nil }
        logger.error("\(detail)")
        reporter.failed(.tls, detail, in: .link)
        return CertificateRenewal.Outcome(at: clock.wall(), isOK: false, detail: detail)
    }

    /// Until when the agent's own certificate is good, when it is due, and what the last try came to; nil without one.
    var certificateDocument: JSONValue? {
        guard let files = certificateFiles, let own = certificateDisk.certificate(in: files.certificate)
        else {
            return nil
        }
        let (due, last) = renewal.withLock { ($0.due(own), $0.last) }
        return [
            "until": .int(min(max(0, own.notAfter), Fields.latestTime / 1_000) * 1_000), "due": .int(due),
            "last": last.map {
                [
                    "at": .int($0.at), "ok": .bool($0.isOK),
                    "detail": .string(events.redaction.masked($0.detail)),
                ]
            } ?? .null,
        ]
    }
}
