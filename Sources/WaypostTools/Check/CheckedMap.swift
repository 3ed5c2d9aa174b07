package import Waypost

/// A relocation document as a check reads it: to its end, also when something in it is refused.
package struct CheckedMap: Sendable {
    /// Its name as a layer.
    package let name: String
    /// Its entries in their order; nil where one was refused while it was read.
    let entries: [RelocationEntry?]
    /// What was refused while it was read.
    let refused: [RelocationError]
    /// The origin or path of each entry, as far as there is one.
    private let subjects: [String]

    /// How many entries were read.
    package var count: Int { entries.count }

    /// The entries that are not refused.
    package var layer: RelocationLayer { RelocationLayer(name: name, entries: entries.compactMap(\.self)) }

    /// Reads the entries of a document: an array, or one entry alone.
    package init(name: String, entries json: JSONValue, maximum: Int) {
        self.name = name
        var refusals = RelocationRefusals(leavingOut: [])
        entries = (try? RelocationEntry.list(json, maximum: maximum, &refusals)) ?? []
        refused = refusals.errors
        subjects = zip(json.arrayValue ?? [json], entries).map { json, entry in
            let fields = ["orginPath", "originPath", "path"]
            return entry?.subjectPath ?? fields.lazy.compactMap { json[$0]?.stringValue }.first ?? ""
        }
    }

    init(_ layer: RelocationLayer) {
        name = layer.name
        entries = layer.entries
        refused = []
        subjects = layer.entries.map(\.subjectPath)
    }

    /// The layer with all places, also those of refused entries, where something stands that is left out.
    var wholeLayer: RelocationLayer {
        RelocationLayer(name: name, entries: entries.map { $0 ?? RelocationEntry(.delete(path: "")) })
    }

    /// The entries that were refused while they were read.
    var refusedPlaces: [RelocationPlan.Place] {
        entries.indices.filter { entries[$0] == nil }.map { .init(layer: name, index: $0) }
    }

    /// What an entry is about as it was written; empty when that is not known.
    func subject(_ index: Int) -> String { subjects.indices.contains(index) ? subjects[index] : "" }
}
