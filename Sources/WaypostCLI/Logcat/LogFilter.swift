import WaypostMessages

/// Which lines are shown: a lowest level for each tag, and one for all others, as in `adb logcat`.
struct LogFilter: Sendable {
    /// Nothing of a tag, adb's `S`.
    private enum Threshold {
        case level(LogLevel)
        case silent
    }

    private var tags: [String: Threshold] = [:]
    private var others = Threshold.level(.verbose)

    /// - Parameters:
    ///   - specifications: `TAG:LEVEL`, `TAG`, `*:LEVEL`; later ones over earlier ones.
    ///   - level: the lowest level for what no specification names.
    ///   - tag: if set, only this tag is shown.
    /// - Throws: ``CommandError`` 64 quoting the specification.
    init(_ specifications: [String], level: LogLevel?, tag: String?) throws(CommandError) {
        let level = level ?? .verbose
        others = tag == nil ? .level(level) : .silent
        if let tag { tags[tag] = .level(level) }
        for specification in specifications {
            let parts = specification.split(separator: ":", omittingEmptySubsequences: false)
            guard let name = parts.first, !name.isEmpty, parts.count <= 2 else {
                throw Self.fault(specification)
            }
            let threshold = try Self.threshold(parts.count == 2 ? parts[1] : "V", in: specification)
            if name == "*" { others = threshold } else { tags[String(name)] = threshold }
        }
    }

    func shows(_ level: LogLevel, tag: String) -> Bool {
        switch tags[tag] ?? others {
        case .level(let lowest): level >= lowest
        case .silent: false
        }
    }

    /// The lowest level of anything that is shown; nil when nothing is.
    var lowest: LogLevel? {
        ([others] + tags.values).compactMap { if case .level(let level) = $0 { level } else { nil } }.min()
    }

    private static func threshold(
        _ letter: Substring, in specification: String
    ) throws(CommandError) -> Threshold {
        if letter == "S" || letter == "s" { return .silent }
        guard let level = LogLevel(letter: letter) else { throw fault(specification) }
        return .level(level)
    }

    private static func fault(_ specification: String) -> CommandError {
        CommandError(
            .usage,
            "filter \(specification.debugDescription) must be TAG:LEVEL, such as Router:D Service:W *:S "
                + "(levels V D I W E F, S for nothing)")
    }
}
