/// Why a relocation document is refused; the map in force stays.
public struct RelocationError: Error, Hashable, Sendable {
    /// What is wrong, with the wire protocol's code and name.
    public enum Code: String, Sendable, Hashable {
        /// 422: a field is missing, of the wrong type, or stands for nothing.
        case badField = "BAD_FIELD"
        /// 422: redirects lead back to where they began.
        case cycle = "CYCLE"
        /// 422: redirects lead on over more than the allowed number of hops.
        case chain = "CHAIN"
        /// 403: a target may not be opened, or a service URL would be relocated.
        case notAllowed = "NOT_ALLOWED"
        /// 413: more entries than the limit.
        case tooLarge = "TOO_LARGE"

        /// The number on the wire.
        public var number: Int {
            switch self {
            case .badField, .cycle, .chain: 422
            case .notAllowed: 403
            case .tooLarge: 413
            }
        }
    }

    /// What is wrong.
    public var code: Code
    /// The layer that holds the entry; nil while a single document is read.
    public var layer: String?
    /// The entry's place in its document, from 0.
    public var index: Int?
    /// The field of the entry.
    public var field: String?
    /// One sentence with what was found; for a cycle the whole way.
    public var detail: String

    /// An error by its parts.
    public init(_ code: Code, layer: String? = nil, index: Int? = nil, field: String? = nil, detail: String) {
        self.code = code
        self.layer = layer
        self.index = index
        self.field = field
        self.detail = detail
    }
}

extension RelocationError: CustomStringConvertible {
    /// Entry, field and sentence.
    public var description: String {
        var subject = ""
        if let layer { subject += "layer \(layer), " }
        if let index { subject += "entry \(index)\(field.map { ".\($0)" } ?? ""): " }
        return subject + detail
    }
}
