/// Why a relocation document is refused; the map in force stays.
public struct RelocationError: Error, Hashable, Sendable {
    /// What is wrong: `badField`, `cycle`, `chain`, `notAllowed` or `tooLarge`.
    public var code: Code
    /// The layer that holds the entry; nil while a single document is read.
    public var layer: String?
    /// The entry's place in its document, from 0; texts count from 1.
    public var index: Int?
    /// The field of the entry.
    public var field: String?
    /// One sentence with what was found; for a cycle the whole path.
    public var detail: String
    /// The other entries that it is about.
    package var others: [RelocationPlan.Place]

    /// An error by its parts.
    package init(_ code: Code, layer: String? = nil, index: Int? = nil, field: String? = nil, detail: String)
    {
        self.init(code, layer: layer, index: index, field: field, detail: detail, others: [])
    }

    /// The same with other entries that it is about.
    init(
        _ code: Code, layer: String?, index: Int?, field: String?, detail: String,
        others: [RelocationPlan.Place]
    ) {
        self.code = code
        self.layer = layer
        self.index = index
        self.field = field
        self.detail = detail
        self.others = others
    }
}

extension RelocationError {
    package func inLayer(_ name: String) -> RelocationError {
        var error = self
        error.layer = name
        return error
    }
}

extension RelocationError: CustomStringConvertible {
    /// Entry, layer and sentence: `entry 1 of agent: routerType is missing`.
    public var description: String {
        switch (index, layer) {
        case (let index?, let layer?):
            "\(RelocationPlan.Place(layer: layer, index: index).text): \(detail)"
        case (let index?, nil): "entry \(index + 1): \(detail)"
        case (nil, let layer?): "layer \(layer): \(detail)"
        case (nil, nil): detail
        }
    }
}
