import Waypost

/// When a command may begin: not before an instant, and only within a window.
package struct CommandSchedule: Sendable, Hashable {
    /// In milliseconds since 1970.
    package var after: Int64?
    package var window: TimeWindow?

    /// Nil for a command that may begin at once.
    package init?(after: Int64? = nil, window: TimeWindow? = nil) {
        guard after != nil || window != nil else { return nil }
        (self.after, self.window) = (after, window)
    }

    /// Reads `after` and `window`.
    ///
    /// - Throws: ``Failure`` 422 naming the field.
    init?(_ fields: Fields) throws(Failure) {
        var window: TimeWindow?
        if let text = try fields.text("window") { window = try TimeWindow(text) }
        self.init(after: try fields.integer("after", in: 0...Fields.latestTime), window: window)
    }

    func write(to json: inout JSONWriter) {
        if let after { json.member("after", after) }
        if let window { json.member("window", "\(window)") }
    }

    /// The first time from now on at which it may begin, up to when it expires; nil when there is none.
    ///
    /// - Parameters:
    ///   - now: In milliseconds since 1970, as `expires`.
    ///   - zone: The agent's.
    package func opening(
        from now: Int64, until expires: Int64, _ zone: LocalZone.Offset = LocalZone.system
    ) -> Range<Int64>? {
        let first = max(now, after ?? now)
        guard first < expires else { return nil }
        return window.map { $0.opening(from: first, until: expires, zone) } ?? first..<expires
    }
}
