import Threading
import Waypost
public import WaypostFleet
package import WaypostMessages

/// Which lines are shown: a lowest level for each tag, and one for all others, as in `adb logcat`; and what else holds.
public struct LogFilter: Sendable {
    /// Nothing of a tag, adb's `S`.
    private enum Threshold {
        case level(LogLevel)
        case silent
    }

    /// By the tags in lower case.
    private var tags: [String: Threshold] = [:]
    private var others = Threshold.level(.verbose)
    /// What must be in the message.
    private var expression: TextPattern?
    private var process: Int64?
    private(set) var query: LogQuery?

    /// Everything.
    public init() {}

    /// Lines for which all of this holds.
    ///
    /// - Parameters:
    ///   - specifications: `TAG:LEVEL`, `TAG`, `*:LEVEL`; later ones over earlier ones. Levels are V D I W E F, and S for
    ///     nothing.
    ///   - level: The lowest level for what no specification names.
    ///   - tag: Only this tag, in any case; nil for all.
    ///   - isSilent: Whether what no specification names is not shown.
    ///   - expression: A regular expression that a part of the message fits.
    ///   - process: Only lines of the process with this number.
    ///   - query: Terms such as `tag:Router level:W -message:demo`, as `waypost logcat --query` has them.
    /// - Throws: ``BackendError`` of kind `invalid` that quotes what can't be read.
    public init(
        _ specifications: [String] = [], level: AgentEvent.Level = .verbose, tag: String? = nil,
        isSilent: Bool = false, expression: String? = nil, process: Int64? = nil, query: String? = nil
    ) throws(BackendError) {
        if let expression {
            do {
                self.expression = try TextPattern(expression, .expression)
            } catch {
                throw BackendError(.invalid, "\(error.detail)")
            }
        }
        self.process = process
        if let query { self.query = try LogQuery.read(query) }
        let level = LogLevel(level)
        others = tag == nil && !isSilent ? .level(level) : .silent
        if let tag { tags[tag.lowercased()] = .level(level) }
        for specification in specifications {
            let parts = specification.split(separator: ":", omittingEmptySubsequences: false)
            guard let name = parts.first, !name.isEmpty, parts.count <= 2 else {
                throw Self.fault(specification)
            }
            let threshold = try Self.threshold(parts.count == 2 ? parts[1] : "V", in: specification)
            if name == "*" { others = threshold } else { tags[name.lowercased()] = threshold }
        }
    }

    /// Whether a line is shown.
    public func shows(_ line: AgentEvent) -> Bool { shows(line, now: WallClock.now()) }

    /// - Parameter now: the time of the wall clock, in milliseconds since 1970.
    package func shows(_ line: AgentEvent, now: Int64) -> Bool {
        shows(line.event.level, tag: line.event.tag)
            && (process.map { $0 == line.event.process } ?? true)
            && (expression?.isIn(line.event.message) ?? true)
            && (query?.holds(for: line, now: now) ?? true)
    }

    private func shows(_ level: LogLevel, tag: String) -> Bool {
        switch tags[tag.lowercased()] ?? others {
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
    ) throws(BackendError) -> Threshold {
        if letter == "S" || letter == "s" { return .silent }
        guard let level = LogLevel(letter: letter) else { throw fault(specification) }
        return .level(level)
    }

    private static func fault(_ specification: String) -> BackendError {
        BackendError(
            .invalid,
            "filter \(specification.debugDescription) must be TAG:LEVEL, such as Router:D Service:W *:S "
                + "(levels V D I W E F, S for nothing)")
    }
}

extension LogQuery {
    /// Reads a query of the command line.
    ///
    /// - Throws: ``BackendError`` naming the term and what it should be.
    package static func read(_ text: String) throws(BackendError) -> LogQuery {
        do { return try LogQuery(text) } catch { throw BackendError(.invalid, "\(error.detail)") }
    }
}
