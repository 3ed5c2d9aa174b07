/// Two paths have one hash: the table needs another seed.
struct HashCollision: Error {}

/// How far the tree has nodes for a record.
struct TreePlace {
    /// The hash of the last one's path.
    var path: UInt64
    /// How many bytes the steps to it have.
    var offset = 0
}

extension TableStorage {
    /// Adds a route, and returns the index that it replaced.
    ///
    /// A pattern with optional parts gets a record for each pattern that it stands for, or none.
    func insert(
        _ pattern: RoutePattern, priority: Int64, takesDeeper: Bool, index: UInt32, replacing: Bool
    ) throws(RouteConflict) -> UInt32? {
        let rows = pattern.rows.map {
            RecordImage(
                $0, priority: priority, takesDeeper: takesDeeper, index: index, ignoresCase: ignoresCase,
                number: addedNumber)
        }
        let rivals = rows.map { $0.withRecord(holder) }
        let rival = rivals.lazy.compactMap(\.self).first.map { record($0.reference) }
        let replaced = rival?.header.pointee.index
        if let rival {
            // Only a route that takes exactly the same is replaced: of another one, a part would be left.
            let isSame = rivals.allSatisfy { other in
                guard let other = other.map({ record($0.reference) }) else { return false }
                return other.header.pointee.optional == pattern.optional
                    && other.header.pointee.index == rival.header.pointee.index
                    && other.pattern == rival.pattern
            }
            guard replacing, isSame else {
                throw RouteConflict(
                    pattern: pattern.text, rival: rival.pattern, priority: Int(priority),
                    rivalIndex: rival.header.pointee.index)
            }
        }
        for case let rival? in rivals { unlink(rival.reference, at: rival.path) }
        for row in rows {
            row.withRecord { record in
                while (try? link(record)) == nil { rebuild(TableSeed()) }
            }
        }
        if replaced != nil { compactIfWorthwhile() }
        return replaced
    }

    /// Removes the routes whose pattern equals `pattern`, with any priority or with one, and returns their indices.
    func remove(_ pattern: RoutePattern, priority: Int64?) -> [UInt32] {
        var removed: [UInt32] = []
        while let route = find(pattern, priority: priority) {
            let header = record(route.reference).header.pointee
            // All records of a route come and go together, so those with its priority are its own.
            for row in pattern.rows {
                if let row = find(row, priority: header.priority) { unlink(row.reference, at: row.path) }
            }
            removed.append(header.index)
        }
        if !removed.isEmpty { compactIfWorthwhile() }
        return removed
    }

    /// A record and the node in whose list it is.
    typealias ListedRecord = (reference: UInt32, path: UInt64)

    /// The record that holds a pattern, names included.
    func find(_ pattern: RoutePattern, priority: Int64?) -> ListedRecord? {
        let image = RecordImage(pattern, ignoresCase: ignoresCase) { name in
            // No key has the number of a converter that the table does not know.
            converters.number(of: converters.canonical(name)).map { $0 + 1 } ?? Int(UInt16.max)
        }
        return image.withRecord { wanted in
            find(wanted) { record in
                (priority == nil || record.header.pointee.priority == priority)
                    && record.header.pointee.optional == wanted.header.pointee.optional
                    && record.names == wanted.names
            }
        }
    }

    /// The record that has the priority and the scheme of this one.
    private func holder(of record: RouteRecordPointer) -> ListedRecord? {
        find(record) { $0.header.pointee.priority == record.header.pointee.priority }
    }

    /// The first record with these steps and scheme for which `isMeant` is true.
    private func find(
        _ wanted: RouteRecordPointer, where isMeant: (RouteRecordPointer) -> Bool
    ) -> ListedRecord? {
        guard let place = try? locate(wanted), isEnd(place, of: wanted) else { return nil }
        let reference = list(at: place.path).first {
            record($0).hasSameScheme(as: wanted) && isMeant(record($0))
        }
        return reference.map { ($0, place.path) }
    }

    /// The converter's number plus one, which a name that the table does not know gets now.
    private func addedNumber(_ name: String) -> Int {
        let name = converters.canonical(name)
        if let number = converters.number(of: name) { return number + 1 }
        converters = converters.adding(name)
        return converters.names.count
    }

    // MARK: The tree

    /// The last node on a record's way, beginning at one of them.
    private func locate(
        _ record: RouteRecordPointer, from start: TreePlace? = nil
    ) throws(HashCollision) -> TreePlace {
        let header = record.header.pointee
        var place = start ?? TreePlace(path: header.isFallback ? TableSeed.fallback : TableSeed.root)
        while let node = nodes[place.path], !node.traits.contains(.isLeaf), place.offset < header.stepBytes {
            let step = record.step(at: place.offset)
            let next = TreePlace(
                path: step.hash(behind: place.path, seed), offset: place.offset + step.byteCount)
            guard let child = nodes[next.path] else { break }
            guard child.sample != 0, self.record(child.sample).shares(next.offset, with: record) else {
                throw HashCollision()
            }
            place = next
        }
        return place
    }

    /// Whether the records of a place have the same steps as this one.
    private func isEnd(_ place: TreePlace, of record: RouteRecordPointer) -> Bool {
        guard let node = nodes[place.path], node.traits.contains(.isLeaf) else {
            return place.offset == record.header.pointee.stepBytes
        }
        return self.record(node.first).hasSameSteps(as: record)
    }

    /// Adds a copy of a record, and the nodes that tell it from all others.
    func link(_ record: RouteRecordPointer) throws(HashCollision) {
        var place = try locate(record)
        while let leaf = nodes[place.path], leaf.traits.contains(.isLeaf), !isEnd(place, of: record) {
            nodes.update(place.path) {
                $0.first = 0
                $0.traits.remove(.isLeaf)
            }
            try addChild(leaf.first, behind: place)
            place = try locate(record, from: place)
        }
        guard isEnd(place, of: record) else { return try addChild(add(record), behind: place) }
        // A list runs from high to low priority, and has patterns with a scheme first.
        let (new, header) = (add(record), record.header.pointee)
        put(new, into: \.first, at: place.path) { other in
            let other = other.header.pointee
            return other.priority < header.priority
                || other.priority == header.priority && other.schemeLength == 0 && header.schemeLength > 0
        }
    }

    /// Adds a copy of a record to the others, and notes what searches need know of it.
    private func add(_ record: RouteRecordPointer) -> UInt32 {
        let header = record.header.pointee
        let reference = records.append(record.bytes)
        records.update(reference) {
            $0.own = reference
            $0.next = 0
            $0.scheme = record.schemeHash(seed)
            $0.isRoute = true
        }
        reader.pointee.note(header, isFirst: count == 0)
        if !header.isShorter { count += 1 }
        return reference
    }

    /// Makes a node for the step behind a place that a record goes on with.
    private func addChild(_ reference: UInt32, behind place: TreePlace) throws(HashCollision) {
        let record = record(reference)
        let step = record.step(at: place.offset)
        let hash = step.hash(behind: place.path, seed)
        guard nodes[hash] == nil else { throw HashCollision() }
        let isLeaf = place.offset + step.byteCount < record.header.pointee.stepBytes
        nodes.update(hash) {
            $0 = TableNode(hash: hash, first: reference, sample: reference, traits: isLeaf ? .isLeaf : [])
        }
        if step.isLiteral {
            nodes.update(place.path) { $0.traits.insert(.hasLiterals) }
        } else if step.isPlaceholder {
            nodes.update(place.path) { $0.traits.insert(.hasPlaceholder) }
        } else {
            let edge = RecordImage(edge: step).withRecord { records.append($0.bytes) }
            let key = self.record(edge).step(at: 0).key
            nodes.update(place.path) { $0.traits.insert(.hasEdges) }
            put(edge, into: \.edges, at: place.path) { key.precedes($0.step(at: 0).key, converters) }
        }
    }

    /// Puts a record into a list of a node, in front of the first for which `isBehind` is true.
    private func put(
        _ reference: UInt32, into list: WritableKeyPath<TableNode, UInt32>, at path: UInt64,
        _ isBehind: (RouteRecordPointer) -> Bool
    ) {
        var before: UInt32 = 0
        var next = nodes[path]?[keyPath: list] ?? 0
        while next != 0, !isBehind(record(next)) { (before, next) = (next, record(next).header.pointee.next) }
        records.update(reference) { $0.next = next }
        if before == 0 {
            nodes.update(path) { $0[keyPath: list] = reference }
        } else {
            records.update(before) { $0.next = reference }
        }
    }

    /// Takes a record out of the list of a node.
    private func unlink(_ reference: UInt32, at path: UInt64) {
        let removed = record(reference).header.pointee
        if let before = list(at: path).first(where: { record($0).header.pointee.next == reference }) {
            records.update(before) { $0.next = removed.next }
        } else {
            nodes.update(path) {
                $0.first = removed.next
                // Without a record, a leaf has nothing to go on with.
                if removed.next == 0 { $0.traits.remove(.isLeaf) }
            }
        }
        records.update(reference) { $0.isRoute = false }
        deadBytes += removed.byteCount
        if !removed.isShorter { count -= 1 }
    }
}
