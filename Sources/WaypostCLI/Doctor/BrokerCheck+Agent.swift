import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

extension BrokerCheck {
    /// All that is found as the agent itself: its rights, by what comes back of its messages to itself.
    func asAgent(_ name: String, groups: [String]) async throws -> [DoctorFinding] {
        let wanted = topics.filters(of: name, groups: groups)
        return try await examine(wanted) { session in
            let nonce = Identifier.ulid()
            let echo = MQTTMessage.json(
                topics.echo(of: name), SelfTestPayload.echo(boot: Identifier.boot(), nonce: nonce))
            let ping = MQTTMessage.json(
                topics.command(to: .agent(name), from: name), SelfTestPayload.ping(nonce: nonce))
            var answers: [String: Result<Bool, BackendError>] = [:]
            for probe in [echo, ping] {
                do {
                    try await session.publish(probe)
                    answers[probe.topic] = .success(false)
                } catch let error as BackendError where error.exit == .failed {
                    answers[probe.topic] = .failure(error)
                }
            }
            var version: String?
            _ = try await session.wait(Self.patience) { message in
                if message.topic == BrokerVersion.topic {
                    version = String(decoding: message.payload, as: UTF8.self)
                }
                for probe in [echo, ping]
                where message.topic == probe.topic && message.payload == probe.payload {
                    answers[probe.topic] = .success(true)
                }
                return answers.values.allSatisfy { (try? $0.get()) != false } && version != nil
            }
            return [
                Self.version(version, session), subscriptions(session, wanted),
                self.echo(answers[echo.topic], echo.topic, of: name),
                commands(answers[ping.topic], ping.topic, of: name, session.connection.version),
            ]
        }
    }

    private func echo(
        _ answer: Result<Bool, BackendError>?, _ topic: String, of name: String
    ) -> DoctorFinding {
        switch answer {
        case .success(true): DoctorFinding("echo", .ok, "a message to \(topic) came back")
        case .failure(let error): rights(error, to: "echo", for: name)
        case .success(false), nil:
            DoctorFinding(
                "echo", .failed, "a message to \(topic) did not come back",
                advice: "the broker's rules do not let \(name) write or read it. " + Self.silence)
        }
    }

    /// Commands need not be allowed from the agent itself, so that a message does not come back proves something only
    /// when the broker has said that it took it.
    private func commands(
        _ answer: Result<Bool, BackendError>?, _ topic: String, of name: String, _ version: MQTTVersion
    ) -> DoctorFinding {
        switch answer {
        case .success(true): DoctorFinding("commands", .ok, "a command to \(topic) came back")
        case .success(false) where version == .v5:
            DoctorFinding(
                "commands", .failed, "the broker took a command to \(topic) and did not deliver it",
                advice: "the broker's rules do not let \(name) read it. " + Self.silence)
        case .success, .failure, nil:
            DoctorFinding(
                "commands", .skipped,
                "it is not known whether commands arrive: \(name) may not write to \(topic), or the broker does not say so",
                advice: "to test it as a sender: waypost ping --agent \(name)")
        }
    }

    private static let silence =
        "Some brokers do not say so: they grant the subscription and drop the messages"
}
