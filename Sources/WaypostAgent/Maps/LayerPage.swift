import Waypost
import WaypostMessages

/// A page of layers and their entries: each layer counts as one item, and so does each of its entries.
struct LayerPage {
    /// A layer, and how its entries are made when they are on the page.
    struct Layer {
        var header: MapLayer
        /// By index, from 0.
        var entry: (Int) -> MapLayer.Entry
    }

    /// The first item on the page.
    let start: Int
    /// The most bytes.
    let bytes: Int

    init(from start: Int, bytes: Int) {
        self.start = start
        self.bytes = bytes
    }

    /// The layers on the page, each with those of its entries that are on it, and the item behind them.
    ///
    /// At least one item is on it; a layer whose entries take several pages is on all of them.
    func cut(_ layers: [Layer]) -> ([MapLayer], next: Int64?) {
        var page: [MapLayer] = []
        var size = 0
        var passed = 0
        for layer in layers {
            let first = passed
            passed += layer.header.count + 1
            guard passed > start else { continue }
            var listed = layer.header
            size += listed.json.serialized().count + 1
            guard page.isEmpty || size <= bytes else { return (page, Int64(first)) }
            for index in max(0, start - first - 1)..<layer.header.count {
                let entry = layer.entry(index)
                size += entry.json.serialized().count + 1
                guard size <= bytes || (page.isEmpty && listed.entries.isEmpty) else {
                    return (page + [listed], Int64(first + 1 + index))
                }
                listed.entries.append(entry)
            }
            page.append(listed)
        }
        return (page, nil)
    }
}

/// What becomes of the entries in force.
struct EntryStates: Sendable {
    private var reasons: [String: [Int: (MapLayer.State, String)]] = [:]

    /// - Parameter hidden: By layer and index, the entries that nothing looks at and what takes their place.
    init(_ applied: AppliedMap, hidden: [String: [Int: String]]) {
        for (layer, entries) in hidden {
            reasons[layer] = entries.mapValues { (.inactive, "\($0) takes its place") }
        }
        for entry in applied.conditional where entry.state != .yes {
            let state: MapLayer.State = entry.state == .no ? .inactive : .active
            reasons[entry.layer, default: [:]][entry.index] = (state, entry.reason)
        }
        for entry in applied.inactive {
            reasons[entry.layer, default: [:]][entry.index] = (.inactive, entry.reason)
        }
    }

    func entry(_ json: JSONValue, of layer: String, at index: Int) -> MapLayer.Entry {
        let (state, reason) = reasons[layer]?[index].map { ($0.0, Optional($0.1)) } ?? (.active, nil)
        return MapLayer.Entry(number: index + 1, content: json, state: state, reason: reason)
    }
}
