/// Two paths have one hash: the table needs another seed.
struct HashCollision: Error {}

/// How far a record's way through the tree was followed.
private struct TreePlace {
    /// The hash of the path.
    var path: UInt64
    /// How many bytes its steps have.
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
        let rivals = rows.compactMap { row in
            row.withRecord { wanted in find(wanted) { $0.header.pointee.priority == priority } }
        }
        let rival = rivals.first.map { record($0.reference) }
        let replaced = rival?.header.pointee.index
        if let rival, let replaced {
            // Only a route that takes exactly the same is replaced: of another one, a part would be left.
            let isSame =
                rivals.count == rows.count && rival.header.pointee.optional == pattern.optional
                && rivals.map { record($0.reference) }.allSatisfy {
                    $0.header.pointee.index == replaced && $0.pattern == rival.pattern
                }
            guard replacing, isSame else {
                throw RouteConflict(
                    pattern: pattern.text, rival: rival.pattern, priority: Int(priority), rivalIndex: replaced
                )
            }
        }
        for rival in rivals { unlink(rival.reference, at: rival.path) }
        for row in rows {
            row.withRecord { record in
                do throws(HashCollision) { try link(record) } catch { rebuild(TableSeed()) }
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

    /// The first record with these steps and scheme for which `isMeant` is true.
    private func find(
        _ wanted: RouteRecordPointer, where isMeant: (RouteRecordPointer) -> Bool
    ) -> ListedRecord? {
        var place = start(of: wanted)
        while place.offset < wanted.header.pointee.stepBytes,
            nodes[place.path]?.traits.contains(.isLeaf) == false
        {
            place = next(place, of: wanted)
        }
        let reference = list(\.first, at: place.path).first {
            record($0).hasSameSteps(as: wanted) && record($0).hasScheme(wanted.scheme) && isMeant(record($0))
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

    /// Adds a copy of a record, and the nodes that lead to it.
    ///
    /// After a collision it stands among the routes, and a table rebuilt has it.
    func link(_ record: RouteRecordPointer) throws(HashCollision) {
        let header = record.header.pointee
        let reference = records.append(record.bytes)
        records.update(reference) {
            $0.own = reference
            $0.next = 0
            $0.isRoute = true
        }
        reader.pointee.deepest = max(reader.pointee.deepest, Int(header.depth))
        reader.pointee.highestPriority = max(reader.pointee.highestPriority, header.priority)
        if !header.isShorter { count += 1 }
        var place = start(of: record)
        while true {
            if let leaf = nodes[place.path], leaf.traits.contains(.isLeaf) {
                // It was just made, or has the records of the same path; otherwise they move one step on.
                if leaf.first == 0 || self.record(leaf.first).hasSameSteps(as: record) { break }
                nodes.update(place.path) {
                    $0.first = 0
                    $0.traits = []
                }
                let child = try descend(from: place, as: leaf.first)
                nodes.update(child.path) {
                    $0.first = leaf.first
                    $0.traits.formUnion(leaf.traits.intersection(.hasParents))
                }
            }
            if place.offset == header.stepBytes { break }
            place = try descend(from: place, as: reference)
        }
        // From high to low priority, and patterns with a scheme first.
        put(reference, into: \.first, at: place.path) { other in
            let other = other.header.pointee
            return other.priority < header.priority
                || other.priority == header.priority && other.schemeLength == 0 && header.schemeLength > 0
        }
        nodes.update(place.path) {
            if header.takesDeeper { $0.traits.insert(.hasParents) }
            // Nothing follows, however much is left of a URL.
            if header.endsWithRest { $0.traits.insert(.isLeaf) }
        }
    }

    private func start(of record: RouteRecordPointer) -> TreePlace {
        TreePlace(path: record.header.pointee.isFallback ? TableSeed.fallback : TableSeed.root)
    }

    private func next(_ place: TreePlace, of record: RouteRecordPointer) -> TreePlace {
        let step = record.step(at: place.offset)
        return TreePlace(path: step.hash(behind: place.path, seed), offset: place.offset + step.byteCount)
    }

    /// Goes one step on with a record, and makes the node for it if there is none.
    private func descend(
        from place: TreePlace, as reference: UInt32
    ) throws(HashCollision) -> TreePlace {
        let record = record(reference)
        let next = next(place, of: record)
        if let node = nodes[next.path] {
            guard node.sample != 0, self.record(node.sample).shares(next.offset, with: record) else {
                throw HashCollision()
            }
        } else {
            let header = record.header.pointee
            let isLeaf = next.offset < header.stepBytes && next.offset >= header.keyBytes
            nodes.update(next.path) {
                $0.sample = reference
                $0.traits = isLeaf ? .isLeaf : []
            }
            add(record.step(at: place.offset), behind: place.path)
        }
        return next
    }

    /// Notes at a node that a step follows.
    private func add(_ step: PathStep, behind path: UInt64) {
        if step.isLiteral {
            nodes.update(path) { $0.traits.insert(.hasLiterals) }
        } else if step.isPlaceholder {
            nodes.update(path) { $0.traits.insert(.hasPlaceholder) }
        } else {
            nodes.update(path) { $0.traits.insert(.hasEdges) }
            let edge = RecordImage(edge: step).withRecord { records.append($0.bytes) }
            put(edge, into: \.edges, at: path) {
                record(edge).step(at: 0).key.precedes($0.step(at: 0).key, converters)
            }
        }
    }

    /// Puts a record into a list of a node, in front of the first for which `isBehind` is true.
    private func put(
        _ reference: UInt32, into list: WritableKeyPath<TableNode, UInt32>, at path: UInt64,
        _ isBehind: (RouteRecordPointer) -> Bool
    ) {
        var (last, next) = (UInt32(0), nodes[path]?[keyPath: list] ?? 0)
        while next != 0, !isBehind(record(next)) {
            (last, next) = (next, record(next).header.pointee.next)
            passed += 1
        }
        records.update(reference) { $0.next = next }
        if last == 0 {
            nodes.update(path) { $0[keyPath: list] = reference }
        } else {
            records.update(last) { $0.next = reference }
        }
    }

    /// Takes a record out of the list of a node.
    private func unlink(_ reference: UInt32, at path: UInt64) {
        let next = record(reference).header.pointee.next
        if let last = list(\.first, at: path).first(where: { record($0).header.pointee.next == reference }) {
            records.update(last) { $0.next = next }
        } else {
            nodes.update(path) { $0.first = next }
        }
        // Without a record, a leaf has nothing to go on with.
        if nodes[path]?.first == 0 { nodes.update(path) { $0.traits.remove(.isLeaf) } }
        records.update(reference) { $0.isRoute = false }
        let removed = record(reference).header.pointee
        deadBytes += removed.byteCount
        if !removed.isShorter { count -= 1 }
    }
}
