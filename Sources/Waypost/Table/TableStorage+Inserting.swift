/// Two paths have one hash: the table needs another seed.
struct HashCollision: Error {}

/// How far the tree has nodes for a record.
struct TreePlace {
    /// The hash of the last one's path.
    var path: UInt64
    /// How many bytes the steps to it have.
    var offset: Int
    /// Whether its records have the same steps as this one.
    var isEnd: Bool
}

extension TableStorage {
    /// Adds a route, and returns the index that it replaced.
    func insert(
        _ pattern: RoutePattern, priority: Int64, takesDeeper: Bool, index: UInt32, replacing: Bool
    ) throws(RouteConflict) -> UInt32? {
        let image = RecordImage(
            pattern, priority: priority, takesDeeper: takesDeeper, index: index, ignoresCase: ignoresCase,
            number: addedNumber)
        return try image.withRecord { (record) throws(RouteConflict) in
            let place = try? locate(record)
            let rival = place.flatMap { holder(of: record, at: $0) }
            if let rival = rival.map(self.record) {
                guard replacing, rival.header.pointee.optional == record.header.pointee.optional else {
                    throw RouteConflict(
                        pattern: pattern.text, rival: rival.pattern, priority: Int(priority),
                        rivalIndex: rival.header.pointee.index)
                }
            }
            let replaced = rival.map { self.record($0).header.pointee.index }
            if let place, let rival { unlink(at: place.path) { $0 == rival } }
            add(record, at: place)
            tally(record.header.pointee, by: 1)
            if replaced != nil { compactIfWorthwhile() }
            publish()
            return replaced
        }
    }

    private func add(_ record: RouteRecordPointer, at place: TreePlace?) {
        if let place, (try? link(record, at: place)) != nil { return }
        repeat { changeSeed() } while (try? link(record)) == nil
    }

    /// The reference of the record that has the priority and the scheme of this one.
    func holder(of record: RouteRecordPointer, at place: TreePlace) -> UInt32? {
        guard place.isEnd else { return nil }
        var next = nodes[place.path]?.first ?? 0
        while next != 0 {
            let other = self.record(next)
            if other.header.pointee.priority == record.header.pointee.priority,
                other.hasSameScheme(as: record)
            {
                return next
            }
            next = other.header.pointee.next
        }
        return nil
    }

    /// The converter's number plus one, which a name that the table does not know gets now.
    private func addedNumber(_ name: String) -> Int {
        let name = converters.canonical(name)
        if let number = converters.number(of: name) { return number + 1 }
        converters = converters.adding(name)
        return converters.names.count
    }

    // MARK: The tree

    func locate(_ record: RouteRecordPointer) throws(HashCollision) -> TreePlace {
        let header = record.header.pointee
        var path = header.isFallback ? TableSeed.fallback : TableSeed.root
        var offset = 0
        while let node = nodes[path] {
            if node.isLeaf {
                let isEnd = self.record(node.first).hasSameSteps(as: record)
                return TreePlace(path: path, offset: offset, isEnd: isEnd)
            }
            if offset == header.stepBytes { return TreePlace(path: path, offset: offset, isEnd: true) }
            let step = record.step(at: offset)
            let next = step.hash(behind: path, seed)
            guard try has(next, for: record, offset + step.byteCount) else { break }
            path = next
            offset += step.byteCount
        }
        return TreePlace(path: path, offset: offset, isEnd: false)
    }

    /// Whether there is a node for the first steps of a record, so many bytes.
    private func has(
        _ path: UInt64, for record: RouteRecordPointer, _ bytes: Int
    ) throws(HashCollision) -> Bool {
        guard let node = nodes[path] else { return false }
        guard self.record(node.sample).shares(bytes, with: record) else { throw HashCollision() }
        return true
    }

    /// Adds a copy of a record to the tree.
    func link(_ record: RouteRecordPointer) throws(HashCollision) {
        try link(record, at: try locate(record))
    }

    private func link(_ record: RouteRecordPointer, at place: TreePlace) throws(HashCollision) {
        let reference = records.append(record.bytes)
        records.update(reference, as: RouteRecord.self) {
            $0.own = reference
            $0.next = 0
            $0.scheme = record.schemeHash(seed)
        }
        if place.isEnd { return splice(reference, at: place.path) }
        do throws(HashCollision) {
            try grow(reference, from: place)
        } catch {
            records.update(reference, as: RouteRecord.self) { $0.isDead = true }
            throw error
        }
    }

    // A list runs from high to low priority, and has patterns with a scheme first.
    private func splice(_ reference: UInt32, at path: UInt64) {
        let new = record(reference).header.pointee
        var before: UInt32 = 0
        var next = nodes[path]?.first ?? 0
        while next != 0 {
            let other = record(next).header.pointee
            if other.priority < new.priority { break }
            if other.priority == new.priority, other.scheme == 0, new.scheme != 0 { break }
            before = next
            next = other.next
        }
        records.update(reference, as: RouteRecord.self) { $0.next = next }
        setNext(reference, behind: before, at: path)
    }

    /// Makes a record, or none, the one behind another of a list, or its first.
    func setNext(_ reference: UInt32, behind before: UInt32, at path: UInt64) {
        if before == 0 {
            nodes.update(path) { $0.first = reference }
        } else {
            records.update(before, as: RouteRecord.self) { $0.next = reference }
        }
    }

    /// Makes the nodes that tell a record from all others.
    private func grow(_ reference: UInt32, from place: TreePlace) throws(HashCollision) {
        let record = record(reference)
        let end = Int(record.header.pointee.stepBytes)
        var path = place.path
        var offset = place.offset
        while true {
            if let node = nodes[path], node.isLeaf { try pushDown(node, offset) }
            if offset == end { return setNext(reference, behind: 0, at: path) }
            let step = record.step(at: offset)
            let child = step.hash(behind: path, seed)
            offset += step.byteCount
            guard try has(child, for: record, offset) else {
                return addChild(
                    TableNode(hash: child, first: reference, sample: reference, isLeaf: offset < end), step,
                    behind: path)
            }
            path = child
        }
    }

    /// Moves the records of a leaf one step further.
    private func pushDown(_ node: TableNode, _ offset: Int) throws(HashCollision) {
        let record = record(node.first)
        let step = record.step(at: offset)
        let child = step.hash(behind: node.hash, seed)
        if nodes[child] != nil { throw HashCollision() }
        nodes.update(node.hash) {
            $0.first = 0
            $0.isLeaf = false
        }
        let isLeaf = offset + step.byteCount < Int(record.header.pointee.stepBytes)
        addChild(
            TableNode(hash: child, first: node.first, sample: node.first, isLeaf: isLeaf), step,
            behind: node.hash)
    }

    private func addChild(_ child: TableNode, _ step: PathStep, behind path: UInt64) {
        nodes.insert(child)
        if step.isLiteral {
            nodes.update(path) { $0.literals += 1 }
        } else if step.isPlaceholder {
            nodes.update(path) { $0.hasPlaceholder = true }
        } else {
            addEdge(step, behind: path)
        }
    }

    private func addEdge(_ step: PathStep, behind path: UInt64) {
        let key = step.key
        var before: UInt32 = 0
        var next = nodes[path]?.edges ?? 0
        while next != 0 {
            let edge = TableEdge(memory: edges[next])
            if key.precedes(NonLiteralKey(edge.bytes), converters) { break }
            before = next
            next = edge.next
        }
        var bytes = withUnsafeBytes(of: TableEdge.Header(next: next, length: UInt32(step.length))) {
            Array($0)
        }
        bytes += UnsafeBufferPointer(start: step.content, count: step.length)
        let new = bytes.withUnsafeBytes { edges.append($0) }
        setNextEdge(new, behind: before, at: path)
    }

    /// Makes an edge, or none, the one behind another of a list, or its first.
    func setNextEdge(_ reference: UInt32, behind before: UInt32, at path: UInt64) {
        if before == 0 {
            nodes.update(path) { $0.edges = reference }
        } else {
            edges.update(before, as: TableEdge.Header.self) { $0.next = reference }
        }
    }
}
