package import Waypost
package import WaypostFleet
package import WaypostMessages

/// What the answers to `maps` say: what is in force, what was, and one document whole.
package struct MapListing {
    /// A document of the past.
    package struct Past {
        /// The key of its layer: the agent's name, `@group`, or ``MapRecord/patchLayer``.
        var layer: String
        var revision: MapRevision
        /// Its entries as a JSON array; nil when they are damaged.
        var entries: () throws(Failure) -> [UInt8]?

        package init(
            layer: String, revision: MapRevision, entries: @escaping () throws(Failure) -> [UInt8]?
        ) {
            self.layer = layer
            self.revision = revision
            self.entries = entries
        }
    }

    private let layers: MapLayers
    private let applied: AppliedMap
    private let router: Router
    private let past: () throws(Failure) -> [Past]

    /// - Parameters:
    ///   - router: where the layers are in force.
    ///   - past: the documents of the past, the newest first.
    package init(
        _ layers: MapLayers, _ applied: AppliedMap, in router: Router,
        past: @escaping () throws(Failure) -> [Past]
    ) {
        self.layers = layers
        self.applied = applied
        self.router = router
        self.past = past
    }

    /// One page of at most so many bytes, with at least one item.
    package func page(_ request: MapsRequest, bytes: Int) throws(Failure) -> JSONValue {
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
        let record = layers.record(of: key).flatMap { $0.isEmptied ? nil : $0 }
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
            MapLayer.Entry(number: $0 + 1, content: entries[$0], state: state, reason: nil)
        }
    }

    // MARK: The past

    /// The documents in force and those before them, by layer in the order in which they act, the newest first.
    private func history(_ name: String?) throws(Failure) -> [Past] {
        let past = try past()
        let keys = layers.listed + Set(past.map(\.layer)).subtracting(layers.listed).sorted()
        return keys.filter { name == nil || layers.name(of: $0) == name }.flatMap { key in
            let now = layers.stored[key].flatMap { record in
                record.isEmptied || record.isDamaged
                    ? nil
                    : Past(layer: key, revision: MapRevision(record, layer: layers.name(of: key))) {
                        () throws(Failure) in record.entries
                    }
            }
            return [now].compactMap(\.self) + past.filter { $0.layer == key }
        }
    }

    private func document(_ request: MapsRequest) throws(Failure) -> (MapRevision, [JSONValue]) {
        let layer = request.layer ?? "agent"
        let all = try history(layer)
        let found = all.first { document in
            switch request.subject {
            case .revision(let number): document.revision.revision == number
            case .digest(let digest): document.revision.digest.hasPrefix(digest)
            case .inForce, .history: false
            }
        }
        guard let found else {
            let known = all.map {
                $0.revision.revision.map { "rev \($0)" } ?? String($0.revision.digest.prefix(15))
            }
            throw Failure(
                .badField,
                "no such document of layer \(layer) is kept"
                    + (known.isEmpty
                        ? "; there are none" : "; kept are \(known.joined(separator: ", "))"))
        }
        guard let bytes = try found.entries(),
            let json = try? JSONValue(parsing: bytes, limits: .trustedFile),
            let entries = json.arrayValue
        else { throw Failure(.disk, "the document is damaged on the disk") }
        return (found.revision, entries)
    }
}

extension MapRevision {
    package init(_ record: MapRecord, layer: String) {
        self.init(
            layer: layer, revision: record.revision, digest: SHA256.label(record.digest),
            author: record.author,
            from: record.applied, until: nil, bytes: record.bytes, changes: record.changes)
    }
}
