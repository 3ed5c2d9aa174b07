/// Why a relocation document is refused; the map in force stays.
public struct RelocationError: Error, Hashable, Sendable {
    /// What is wrong: `badField`, `cycle`, `chain`, `notAllowed` or `tooLarge`.
    public var code: Code
    /// The layer that holds the entry; nil while a single document is read.
    public var layer: String?
    /// The entry's place in its document, from 0.
    public var index: Int?
    /// The field of the entry.
    public var field: String?
    /// One sentence with what was found; for a cycle the whole path.
    public var detail: String

    /// An error by its parts.
    package init(_ code: Code, layer: String? = nil, index: Int? = nil, field: String? = nil, detail: String)
    {
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
