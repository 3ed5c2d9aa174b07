/// How far a handler or a method is with a command, for who sent it.
public struct HandlerProgress: Sendable, Hashable {
    /// The longest text, in bytes; the rest is cut off.
    static let maximumText = 256

    /// From 0 to 1; nil when that is not known.
    public var fraction: Double?
    /// What it does, for people; at most 256 bytes.
    public var text: String?

    /// - Parameters:
    ///   - fraction: Moved into 0 to 1; what is no number is not known.
    ///   - text: What it does; cut at 256 bytes.
    public init(_ fraction: Double? = nil, _ text: String? = nil) {
        self.fraction = fraction.flatMap { $0.isNaN ? nil : min(max($0, 0), 1) }
        self.text = text.map { $0.cut(to: Self.maximumText) }
    }

    /// Says how far the handler or the method is in which this is called: of a command that an agent runs its sender learns
    /// it, at most once a second.
    ///
    ///     HandlerProgress.report(0.4, "downloading")
    ///
    /// In an open or a call of the program itself it does nothing, and so it does in a detached task.
    public static func report(_ fraction: Double?, _ text: String? = nil) {
        OpenScope.current.context.onProgress?(HandlerProgress(fraction, text))
    }
}
