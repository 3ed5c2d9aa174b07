import Threading
import WaypostFleet
import WaypostMessages

/// The groups that the agent is in now.
///
/// ``RelocationMaps`` changes them; all others read them.
final class AgentGroups: Sendable {
    private let membership: Guarded<GroupMembership>

    init(_ membership: GroupMembership) { self.membership = Guarded(membership) }

    var current: GroupMembership { membership.withLock(\.self) }

    /// Those beside `all`, in the order of their maps.
    var names: [String] { current.groups }

    /// To whom what reaches the agent may be addressed.
    var audiences: [Audience] { [.all] + names.map(Audience.group) }

    func set(_ new: GroupMembership) { membership.withLock { $0 = new } }
}
