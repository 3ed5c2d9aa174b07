import ArgumentParser
import WaypostBackend

/// What may speak against a map, and it is sent or rolled out all the same.
struct ObjectionOptions: ParsableArguments {
    @Flag(help: "Go on even if an entry would have no effect on any agent.")
    var allowInactive = false

    @Flag(help: "Go on even if it is not known of all agents what the map would do there.")
    var unchecked = false

    var allowed: Set<MapObjection.Kind> {
        Set([allowInactive ? .inactive : nil, unchecked ? .unchecked : nil].compactMap(\.self))
    }
}

extension MapObjection.Kind {
    /// What is asked about where there is a terminal, and allowed by --yes.
    static let asked: Set<MapObjection.Kind> = [.older, .refused, .loss]

    /// The option that allows it; nil for what is asked about.
    var option: String? {
        switch self {
        case .unknownReceiver: "--new-agent"
        case .unchecked: "--unchecked"
        case .inactive: "--allow-inactive"
        case .older, .refused, .loss: nil
        }
    }
}
