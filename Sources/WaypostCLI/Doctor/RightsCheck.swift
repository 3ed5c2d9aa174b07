import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

/// Tries each right to send maps and to steer roll-outs, on the topics of a group that does not exist.
///
/// The messages are empty and not retained: whoever else reads these topics gets nothing, and nothing stays.
struct RightsCheck {
    /// What a broker lets a name write, and mostly also read.
    struct Right: Sendable, Hashable {
        /// For people: what may be written.
        var name: String
        var topic: String
        /// Whether who writes it must read it, too.
        var isRead: Bool
    }

    /// What was found of a right.
    private enum Answer: Hashable {
        case granted
        /// The broker takes what is written, and does not give it back.
        case unread
        case denied
        /// The broker did not say.
        case unknown
    }

    /// Those of the release role, as `scripts/broker/acl` has them.
    static func rights(_ topics: Topics, group: String) -> [Right] {
        [
            Right(name: "maps", topic: topics.map(of: .group(group)), isRead: true),
            Right(name: "patches", topic: topics.patch(of: group), isRead: false),
            Right(name: "groups", topic: topics.groups(of: group), isRead: true),
            Right(name: "maps of roll-outs", topic: topics.candidate(of: group), isRead: true),
            Right(name: "roll-outs", topic: topics.rollout(of: group), isRead: true),
            Right(name: "leases", topic: topics.lease(of: group), isRead: true),
            Right(name: "audits", topic: topics.audit(of: group, slot: 0), isRead: true),
        ]
    }

    let sender: String
    let topics: Topics
    private let group = "doctor-\(Identifier.short())"

    init(sender: String, topics: Topics) { (self.sender, self.topics) = (sender, topics) }

    /// What the name may do; at the end of a session, which some brokers close at the first message that they refuse.
    func finding(_ session: BackendSession) async throws -> DoctorFinding {
        let rights = Self.rights(topics, group: group)
        var answers: [Right: Answer] = [:]
        for right in rights where right.isRead { _ = try await session.subscribe(right.topic) }
        do {
            for right in rights { answers[right] = try await answer(to: right, session) }
            if answers.values.contains(.unread) {
                _ = try await session.wait(BrokerCheck.patience) { message in
                    if let right = rights.first(where: { $0.topic == message.topic }) {
                        answers[right] = .granted
                    }
                    return !answers.values.contains(.unread)
                }
            }
        } catch let error as BackendError where error.kind == .noBroker {
            return DoctorFinding(
                "maps", .skipped,
                "it is not known whether \(sender) may send maps: the broker ended the connection when that was tried"
            )
        }
        return finding(rights, answers, session.connection.version)
    }

    private func answer(to right: Right, _ session: BackendSession) async throws -> Answer {
        do {
            try await session.publish(MQTTMessage(topic: right.topic, payload: []))
            return right.isRead ? .unread : session.connection.version == .v5 ? .granted : .unknown
        } catch let error as BackendError where error.exit == .failed {
            return .denied
        }
    }

    private func finding(
        _ rights: [Right], _ answers: [Right: Answer], _ version: MQTTVersion
    ) -> DoctorFinding {
        // On MQTT 3.1.1 a broker takes what it drops.
        let isSilent = version != .v5
        func names(_ wanted: Answer...) -> [String] {
            rights.filter { wanted.contains(answers[$0] ?? .unknown) }.map(\.name)
        }
        let (granted, denied, unread) = (names(.granted), names(.denied), names(.unread))
        if granted.isEmpty, unread.isEmpty || isSilent {
            return DoctorFinding(
                "maps", .note,
                "\(sender) may not send maps or steer roll-outs: \(BrokerRole.release.text)")
        }
        guard denied.isEmpty, unread.isEmpty else {
            let missing =
                (denied.isEmpty ? [] : ["may not write \(denied.joined(separator: ", "))"])
                + (unread.isEmpty
                    ? []
                    : ["may not read\(isSilent ? ", or not write," : "") \(unread.joined(separator: ", "))"])
            let topics = rights.filter { (denied + unread).contains($0.name) }
                .map { $0.topic.replacing(group, with: "+") }
            return DoctorFinding(
                "maps", .warning,
                "\(sender) may write \(granted.isEmpty ? "some" : granted.joined(separator: ", ")), and "
                    + missing.joined(separator: ", and "),
                advice:
                    "to send maps and steer roll-outs, let \(sender) read and write \(topics.joined(separator: ", ")) in "
                    + "the broker's rules")
        }
        return DoctorFinding(
            "maps", .ok,
            "\(sender) may send maps and steer roll-outs: \(granted.joined(separator: ", "))"
                + (names(.unknown).isEmpty
                    ? "" : "; of \(names(.unknown).joined(separator: ", ")) the broker does not say it"))
    }
}

extension String {
    fileprivate func replacing(_ part: String, with other: String) -> String {
        split(separator: "/", omittingEmptySubsequences: false).map { level in
            level == part ? other : level == "@\(part)" ? other : String(level)
        }.joined(separator: "/")
    }
}
