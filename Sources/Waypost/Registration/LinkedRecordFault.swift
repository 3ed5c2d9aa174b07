/// Something in the section `waypost_records` that is not a record of a known version; it was ignored.
struct LinkedRecordFault: Error, Hashable, Sendable {
    /// What was found.
    enum Reason: Hashable, Sendable {
        /// The magic number is wrong.
        case noRecord(UInt32)
        /// A record of another version: parts of the program were built with another Waypost.
        case unknownVersion(UInt32)
        /// A field that this version does not use is not 0.
        case reservedFieldInUse
        /// The address of the accessor is null.
        case noAccessor
        /// The section ends inside a record.
        case cutOff(bytes: Int)
    }

    /// Where it begins, in bytes from the start of the section.
    var offset: Int
    /// What was found there.
    var reason: Reason

    /// Names the offset and what was found.
    init(offset: Int, reason: Reason) {
        self.offset = offset
        self.reason = reason
    }
}

extension LinkedRecordFault: CustomStringConvertible {
    /// One sentence with the offset and what was found.
    var description: String {
        "read the linked record at byte \(offset): \(reason)"
    }
}

extension LinkedRecordFault.Reason: CustomStringConvertible {
    /// The reason in words.
    package var description: String {
        switch self {
        case .noRecord(let magic): "0x\(String(magic, radix: 16)) is not the magic number of a record"
        case .unknownVersion(let version):
            "version \(version) is unknown; this build reads version \(LinkedRecords.version)"
        case .reservedFieldInUse: "a reserved field is not 0"
        case .noAccessor: "its accessor is null"
        case .cutOff(let bytes): "the section ends after \(bytes) of its bytes"
        }
    }
}

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
