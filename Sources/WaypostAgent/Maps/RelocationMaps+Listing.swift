import Waypost
import WaypostMessages

/// The answers to `maps`: what is in force, what was, and one document whole.
extension RelocationMaps {
    /// One page of at most so many bytes, with at least one item.
    func page(_ request: MapsRequest, bytes: Int) throws(Failure) -> JSONValue {
        let start = Int(clamping: request.before ?? 0)
        switch request.subject {
        case .inForce:
            let (layers, next) = LayerPage(from: start, bytes: bytes).cut(listed(request.layer))
            return ["layers": .array(layers.map(\.json)), "next": .init(next)]
        case .history:
            let (revisions, next) = Self.cut(
                try history(request.layer).map(\.revision.json), from: start, bytes: bytes)
            return ["history": .array(revisions), "next": .init(next)]
        case .revision, .digest:
            let (document, entries) = try document(request)
            let (page, next) = Self.cut(entries, from: start, bytes: bytes - document.json.serialized().count)
            return [
                "document": document.json, "count": .int(Int64(entries.count)), "entries": .array(page),
                "next": .init(next),
            ]
        }
    }

    private static func cut(_ items: [JSONValue], from start: Int, bytes: Int) -> ([JSONValue], next: Int64?)
    {
        var page: [JSONValue] = []
        var size = 0
        for (index, item) in items.enumerated().dropFirst(start) {
            size += item.serialized().count + 1
            guard page.isEmpty || size <= bytes else { return (page, Int64(index)) }
            page.append(item)
        }
        return (page, nil)
    }

    // MARK: In force

    /// The layers in the order in which they act, without their entries, and how to make these.
    private func listed(_ name: String?) -> [LayerPage.Layer] {
        let (layers, applied) = current
        let inForce = Dictionary(
            router.layers.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        let states = EntryStates(applied, hidden: router.hiddenEntries)
        let own = router.ownLayers.map { layer in
            LayerPage.Layer(
                header: MapLayer(name: layer.name, count: layer.entries.count),
                entry: { states.entry(layer.entries[$0].json, of: layer.name, at: $0) })
        }
        let stored = layers.listed.map { layer($0, layers, inForce, states) }
        return (own + stored).filter { name == nil || $0.header.name == name }
    }

    private func layer(
        _ key: String, _ layers: MapLayers, _ inForce: [String: RelocationLayer], _ states: EntryStates
    ) -> LayerPage.Layer {
        let name = layers.name(of: key)
        let record = layers.stored[key].flatMap { $0.isEmptied ? nil : $0 }
        var header = MapLayer(
            name: name, revision: record?.revision, digest: record.map { SHA256.label($0.digest) },
            author: record?.author, since: record?.applied, expires: record?.expires, count: 0,
            refused: layers.refused[name])
        if layers.untrusted.contains(key) {
            (header.state, header.reason) = (.inactive, "too few trusted keys have signed it")
        } else if record == nil {
            (header.state, header.reason) = (.inactive, "no document is in force")
        } else if record?.isDamaged == true {
            (header.state, header.reason) = (
                .inactive, "the stored map is damaged on the disk; send it again"
            )
        } else if layers.reverted.contains(key) {
            (header.state, header.reason) = (.expired, "it has expired")
        } else if let error = layers.unfit[key] {
            (header.state, header.reason) = (.inactive, "it does not fit this build: \(error)")
        }
        if header.state == .active, let layer = inForce[name] {
            header.count = layer.entries.count
            return LayerPage.Layer(header: header) {
                states.entry(layer.entries[$0].json, of: name, at: $0)
            }
        }
        let json = record.flatMap { try? JSONValue(parsing: $0.entries, limits: .trustedFile) }
        let entries = json?.arrayValue ?? []
        header.count = entries.count
        let state = header.state
        return LayerPage.Layer(header: header) {
            MapLayer.Entry(number: $0 + 1, json: entries[$0], state: state, reason: nil)
        }
    }

    // MARK: The past

    /// The documents in force and those before them, by layer in the order in which they act, the newest first.
    private func history(_ name: String?) throws(Failure) -> [(revision: MapRevision, source: Source)] {
        let layers = current.layers
        let past: [PastMap]
        do throws(StoreError) {
            past = try store.read(1) { try $0.pastMaps() }
        } catch {
            throw Failure(.disk, "\(error)")
        }
        let keys = layers.listed + Set(past.map(\.layer)).subtracting(layers.listed).sorted()
        return keys.filter { name == nil || layers.name(of: $0) == name }.flatMap { key in
            let now = layers.stored[key].flatMap { record in
                record.isEmptied || record.isDamaged
                    ? nil : (MapRevision(record, layer: layers.name(of: key)), Source.current(record))
            }
            return [now].compactMap(\.self)
                + past.filter { $0.layer == key }.map {
                    (MapRevision($0, layer: layers.name(of: key)), Source.past($0))
                }
        }
    }

    private enum Source {
        case current(MapRecord)
        case past(PastMap)
    }

    private func document(_ request: MapsRequest) throws(Failure) -> (MapRevision, [JSONValue]) {
        let layer = request.layer ?? "agent"
        let all = try history(layer)
        let found = all.first { revision, _ in
            switch request.subject {
            case .revision(let number): revision.revision == number
            case .digest(let digest): revision.digest.hasPrefix(digest)
            case .inForce, .history: false
            }
        }
        guard let (revision, source) = found else {
            let known = all.map {
                $0.revision.revision.map { "rev \($0)" } ?? String($0.revision.digest.prefix(15))
            }
            throw Failure(
                .badField,
                "no such document of layer \(layer) is kept"
                    + (known.isEmpty
                        ? "; there are none" : "; kept are \(known.joined(separator: ", "))"))
        }
        let bytes: [UInt8]?
        switch source {
        case .current(let record): bytes = record.entries
        case .past(let past):
            do throws(StoreError) {
                bytes = try store.read(1) { try $0.entries(ofPastMap: past.sequence) }
            } catch {
                throw Failure(.disk, "\(error)")
            }
        }
        guard let bytes, let json = try? JSONValue(parsing: bytes, limits: .trustedFile),
            let entries = json.arrayValue
        else { throw Failure(.disk, "the document is damaged on the disk") }
        return (revision, entries)
    }
}

extension MapRevision {
    fileprivate init(_ record: MapRecord, layer: String) {
        self.init(
            layer: layer, revision: record.revision, digest: SHA256.label(record.digest),
            author: record.author,
            from: record.applied, until: nil, bytes: record.bytes, changes: record.changes)
    }

    fileprivate init(_ past: PastMap, layer: String) {
        self.init(
            layer: layer, revision: past.revision, digest: SHA256.label(past.digest), author: past.author,
            from: past.began, until: past.ended, bytes: past.bytes, changes: past.changes)
    }
}
