/// What speaks against a map before it is sent, at once or in stages: it is not, unless who sends it allows that.
public struct MapObjection: Sendable, Hashable {
    /// What it is about.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// No agent has that name, or is in that group; the broker would keep the map for the first that comes.
        case unknownReceiver
        /// It is not known of all agents what the map would do there.
        case unchecked
        /// The map is not newer than one that is in force, or that the broker keeps and that it would replace.
        case older
        /// Every agent of which it is known would refuse it.
        case refused
        /// An entry would have no effect at any agent.
        case inactive
        /// Entries would disappear.
        case loss
    }

    /// What it is about.
    public let kind: Kind
    /// One clause with the subject and what was found.
    public let text: String

    package init(kind: Kind, text: String) { (self.kind, self.text) = (kind, text) }
}

extension MapObjection.Kind {
    /// The option of `waypost relocate` that allows it; where there is a terminal, it asks about a loss.
    package var option: String {
        switch self {
        case .unknownReceiver: "--new-agent"
        case .unchecked: "--unchecked"
        case .inactive: "--allow-inactive"
        case .older: "--allow-older"
        case .refused: "--allow-refused"
        case .loss: "--yes"
        }
    }
}
