package import MQTTLink
import Waypost
import WaypostFleet
package import WaypostMessages

extension BackendSession {
    /// Reads what the broker keeps about the receivers of a command before it is sent.
    ///
    /// - Parameter saw: called with each message.
    /// - Throws: ``BackendError`` when the broker knows no such agent or group, with the names that are near.
    package func meet(
        _ audience: Audience, within wait: ReplyWait, _ diagnosis: inout NoReplyDiagnosis,
        _ saw: (MQTTMessage) -> Void = { _ in }
    ) async throws {
        func take(_ message: MQTTMessage) {
            diagnosis.saw(message)
            saw(message)
        }
        switch audience {
        case .agent(let agent):
            guard try await readUpToFence(take), !diagnosis.knowsReceivers else { return }
            try await refuse(unknown: agent, "agent") { Array($0.members.keys) }
        case .group(let group):
            guard try await readAsMuch(within: wait.isOn ? wait.duration : Self.patience, take) == .whole,
                !diagnosis.knowsReceivers
            else { return }
            try await refuse(unknown: group, "group") { roster in
                roster.members.values.contains { $0.health != nil } ? Array(roster.groups) : []
            }
        }
    }

    /// How long the names are looked for among which the right one may be.
    private static let patience = Duration.seconds(2)

    private func refuse(unknown name: String, _ kind: String, among names: (Roster) -> [String]) async throws
    {
        var roster = Roster(topics: topics)
        if try await subscribe(topics.state(of: "+")), try await subscribe(topics.health(of: "+")) {
            roster.cutOff = try await readAsMuch(within: Self.patience) { roster.saw($0) }.fault
        }
        // Who is not among a part of them may be among the others.
        guard roster.gap == nil else { return }
        let names = names(roster)
        // A broker that shows no agent at all may not show this one either; and it may have come up by now.
        guard !names.isEmpty, !names.contains(name) else { return }
        throw BackendError(
            .unknownReceiver,
            "not sent: there is no \(kind) \(name) at this broker"
                + NearestNames.advice(NearestNames.find(name, among: names)))
    }
}
