/// Something that was declared without a list and could not be registered.
public struct LinkedFailure: Error, Hashable, Sendable {
    /// The pattern or the service; empty when it is not a record.
    public var subject: String
    /// One sentence with the subject and what was found.
    public var detail: String
}

extension LinkedFailure: CustomStringConvertible {
    /// The sentence.
    public var description: String { detail }
}
