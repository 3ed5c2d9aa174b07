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

/// The same for a map that is sent at once: a roll-out needs one that is newer, and that agents take.
struct OutdatedOptions: ParsableArguments {
    @Flag(
        help: "Send it even if it is not newer than one that is in force, or that it replaces at the broker.")
    var allowOlder = false

    @Flag(help: "Send it even if every agent would refuse it: the broker keeps it all the same.")
    var allowRefused = false

    var allowed: Set<MapObjection.Kind> {
        Set([allowOlder ? .older : nil, allowRefused ? .refused : nil].compactMap(\.self))
    }
}

extension [MapObjection] {
    /// The options that allow them, each once.
    var options: String {
        reduce(into: [String]()) { if !$0.contains($1.kind.option) { $0.append($1.kind.option) } }
            .joined(separator: " ")
    }
}
