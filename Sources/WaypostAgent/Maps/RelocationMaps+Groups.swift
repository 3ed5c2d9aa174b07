import MQTTLink
import Threading
import Waypost
import WaypostFleet
import WaypostMessages

/// The document of the agent's groups: stored first, then their maps and roll-outs are in force, then the link subscribes.
extension RelocationMaps {
    private static let documentKey = "groups"
    private static let leftKey = "groups/left"

    /// Takes a document; false when it can't be stored.
    func takeGroups(_ message: MQTTMessage) -> Bool {
        let before = groups.current
        var membership = before
        do throws(Failure) {
            guard try membership.take(message.payload) else {
                groups.set(membership)
                if membership.said != before.said { onGroups(([], [])) }
                return true
            }
            if let refusal = store.disk.refusal { throw refusal }
        } catch {
            membership = before
            let isNew = membership.refuse(message.payload, error)
            groups.set(membership)
            // A retained document comes again with every connection.
            if isNew {
                reporter.failed(error.code, "document of groups refused: \(error.detail)", in: .agent)
            }
            onGroups(([], []))
            return true
        }
        let (text, left) = (String(decoding: message.payload, as: UTF8.self), membership.left)
        do throws(StoreError) {
            try store.commit { transaction in
                try transaction.setText(Self.documentKey, text)
                try transaction.setText(Self.leftKey, left.joined(separator: ","))
            }
        } catch {
            return false
        }
        put(membership, after: before.groups)
        return true
    }

    private func put(_ membership: GroupMembership, after before: [String]) {
        groups.set(membership)
        let now = membership.groups
        let joined = now.filter { !before.contains($0) }
        let left = before.filter { !now.contains($0) }
        if now != before {
            var layers = state.withLock { state in
                state.layers.setGroups(now)
                state.rollouts.left(left.map { Audience.group($0).description })
                return state.layers
            }
            if expiry == .revert { leaveOutExpired(&layers) }
            fit(&layers)
            restoreRollouts(of: joined.map { Audience.group($0).description })
        }
        reporter.log(
            .info, "Agent",
            "groups rev \(membership.document?.revision ?? 0): in \((["all"] + now).joined(separator: ", "))")
        onGroups((joined, left))
    }

    /// Takes what an earlier run stored, before its maps.
    func restoreGroups() throws(StoreError) {
        let (text, left) = try store.commit { transaction in
            (try transaction.text(Self.documentKey), try transaction.text(Self.leftKey))
        }
        guard let text else { return }
        var membership = groups.current
        do throws(Failure) {
            try membership.restore(
                Array(text.utf8), left: (left ?? "").split(separator: ",").map(String.init))
        } catch {
            reporter.failed(
                error.code, "the stored document of groups is left out: \(error.detail)", in: .agent)
        }
        groups.set(membership)
        state.withLock { $0.layers.setGroups(membership.groups) }
    }
}
