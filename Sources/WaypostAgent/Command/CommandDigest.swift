import WaypostMessages

/// By what a command is recognised when its id comes again: the digest of its bytes, and that of what it asks for.
///
/// A sender that tries again may stamp its command again; it is the same command anyway.
struct CommandDigest: Sendable, Hashable {
    private static let length = 32

    /// Both, one after the other, as they are stored.
    let bytes: [UInt8]

    /// - Parameter content: see `Command.content(of:_:)`.
    init(payload: [UInt8], content: [UInt8]) {
        bytes = SHA256.digest(of: payload) + SHA256.digest(of: content)
    }

    /// As it was stored; an earlier build had the first digest alone.
    init(stored bytes: [UInt8]) { self.bytes = bytes }

    private var payload: ArraySlice<UInt8> { bytes.prefix(Self.length) }
    private var content: ArraySlice<UInt8> { bytes.dropFirst(Self.length) }

    /// Whether these are the bytes that came.
    func fits(_ payload: [UInt8]) -> Bool { self.payload == SHA256.digest(of: payload)[...] }

    /// Whether both are digests of the same command.
    func matches(_ other: CommandDigest) -> Bool {
        payload == other.payload || !content.isEmpty && content == other.content
    }
}
