extension TableStorage {
    /// Removes the routes whose pattern equals `pattern`, with any priority or with one, and returns their indices.
    func remove(_ pattern: RoutePattern, priority: Int64?) -> [UInt32] {
        withPlace(of: pattern) { wanted, place in
            let removed = unlink(at: place.path) { has($0, wanted, priority) }
            guard !removed.isEmpty else { return [] }
            prune(wanted, place)
            compactIfWorthwhile()
            publish()
            return removed
        } ?? []
    }

    /// The record that holds a pattern, names included.
    func record(of pattern: RoutePattern, priority: Int64?) -> RouteRecordPointer? {
        withPlace(of: pattern) { wanted, place in
            list(nodes[place.path]?.first ?? 0).first { has($0, wanted, priority) }.map(record)
        }
    }

    /// The record in the place that a pattern would get.
    func holder(of pattern: RoutePattern, priority: Int64) -> RouteRecordPointer? {
        withPlace(of: pattern, priority: priority) { holder(of: $0, at: $1).map(record) }
    }

    /// Calls `body` with a record of the pattern and its place, if there is one.
    private func withPlace<Result>(
        of pattern: RoutePattern, priority: Int64 = 0, _ body: (RouteRecordPointer, TreePlace) -> Result?
    ) -> Result? {
        let image = RecordImage(pattern, priority: priority, ignoresCase: ignoresCase) { name in
            // No key has the number of a converter that the table does not know.
            converters.number(of: converters.canonical(name)).map { $0 + 1 } ?? Int(UInt16.max)
        }
        return image.withRecord { record in
            guard let place = try? locate(record), place.isEnd else { return nil }
            return body(record, place)
        }
    }

    // The steps are equal; names, scheme and optional parts are left to compare.
    private func has(_ reference: UInt32, _ wanted: RouteRecordPointer, _ priority: Int64?) -> Bool {
        let record = record(reference)
        guard priority == nil || record.header.pointee.priority == priority else { return false }
        return record.hasSameScheme(as: wanted)
            && record.header.pointee.optional == wanted.header.pointee.optional
            && record.names == wanted.names
    }

    /// Takes those records out of a list for which `isMeant` is true, and returns their indices.
    @discardableResult
    func unlink(at path: UInt64, where isMeant: (UInt32) -> Bool) -> [UInt32] {
        var removed: [UInt32] = []
        var before: UInt32 = 0
        for reference in list(nodes[path]?.first ?? 0) {
            let record = record(reference).header.pointee
            guard isMeant(reference) else {
                before = reference
                continue
            }
            setNext(record.next, behind: before, at: path)
            records.update(reference, as: RouteRecord.self) { $0.isDead = true }
            deadBytes += record.byteCount
            tally(record, by: -1)
            removed.append(record.index)
        }
        return removed
    }

    // From the end upwards: a node that leads nowhere goes, with the step to it.
    private func prune(_ record: RouteRecordPointer, _ place: TreePlace) {
        var steps: [(parent: UInt64, step: PathStep)] = []
        var path = record.header.pointee.isFallback ? TableSeed.fallback : TableSeed.root
        var offset = 0
        while offset < place.offset {
            let step = record.step(at: offset)
            steps.append((path, step))
            path = step.hash(behind: path, seed)
            offset += step.byteCount
        }
        if nodes[path]?.first == 0 { nodes.update(path) { $0.isLeaf = false } }
        while nodes[path]?.isEmpty == true, let (parent, step) = steps.popLast() {
            nodes.remove(path)
            if step.isLiteral {
                nodes.update(parent) { $0.literals -= 1 }
            } else if step.isPlaceholder {
                nodes.update(parent) { $0.hasPlaceholder = false }
            } else {
                removeEdge(step, behind: parent)
            }
            path = parent
        }
    }

    private func removeEdge(_ step: PathStep, behind path: UInt64) {
        let bytes = UnsafeBufferPointer(start: step.content, count: step.length)
        var before: UInt32 = 0
        var next = nodes[path]?.edges ?? 0
        while next != 0 {
            let edge = TableEdge(memory: edges[next])
            if edge.bytes.elementsEqual(bytes) {
                deadBytes += edge.bytes.count + MemoryLayout<TableEdge.Header>.size
                return setNextEdge(edge.next, behind: before, at: path)
            }
            before = next
            next = edge.next
        }
    }

    /// Records and edges are only ever added, so a table that lives through many changes would grow without end.
    func compactIfWorthwhile() {
        if deadBytes > 1 << 20, deadBytes > (records.byteCount + edges.byteCount) / 2 { compact() }
    }
}
