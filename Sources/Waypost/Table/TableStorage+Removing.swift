extension TableStorage {
    /// One step on the way to a pattern's end.
    private enum Step {
        case literal(hash: UInt64, length: Int)
        case placeholder
        case special(UInt32)
    }

    /// Removes the routes whose pattern equals `pattern`, with any priority or with one, and returns their indices.
    func remove(_ pattern: RoutePattern, priority: Int64?) -> [UInt32] {
        pattern.text.utf8Span.span.withUnsafeBufferPointer { remove(pattern, in: $0, priority: priority) }
    }

    private func remove(
        _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>, priority: Int64?
    ) -> [UInt32] {
        guard let (end, steps) = findEnd(of: pattern, in: bytes) else { return [] }
        let scheme = schemeNode(of: pattern)
        let way = way(of: pattern, in: bytes)
        var removed: [UInt32] = []
        var before: UInt32 = 0
        var next = nodes[end].terminal
        while next != 0 {
            let entry = entries[next]
            if priority == nil || entry.priority == priority, holds(entry, pattern) {
                removeShape(of: entry, pattern, in: bytes, way)
                unlink(next, before: before, at: end, way)
                removed.append(entry.index)
            } else {
                before = next
            }
            next = entry.next
        }
        guard !removed.isEmpty else { return [] }
        prune(steps, end: end)
        if scheme != 0 { pruneScheme(scheme, pattern) }
        if deadText > 1 << 20, deadText > texts.byteCount / 2 { compactTexts() }
        publish()
        return removed
    }

    /// The entry that holds a pattern, names included.
    func entry(of pattern: RoutePattern, priority: Int64?) -> TableEntry? {
        let found = pattern.text.utf8Span.span.withUnsafeBufferPointer { findEnd(of: pattern, in: $0) }
        guard let (end, _) = found else { return nil }
        var next = nodes[end].terminal
        while next != 0 {
            let entry = entries[next]
            if priority == nil || entry.priority == priority, holds(entry, pattern) { return entry }
            next = entry.next
        }
        return nil
    }

    // Shapes are equal once both end at one node; names and scheme are left to compare.
    private func holds(_ entry: TableEntry, _ pattern: RoutePattern) -> Bool {
        guard (entry.scheme == 0) == (pattern.scheme == nil) else { return false }
        if pattern.scheme != nil, entry.scheme != schemeNode(of: pattern) { return false }
        return captures[Int(entry.layout)].captures.map(\.name) == pattern.placeholderNames
    }

    private func schemeNode(of pattern: RoutePattern) -> UInt32 {
        guard let scheme = pattern.scheme else { return 0 }
        return scheme.utf8Span.span.withUnsafeBufferPointer { text in
            text.baseAddress.map { edgeReader.scheme(seed.component(text), in: $0) } ?? 0
        }
    }

    private func findEnd(
        of pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>
    ) -> (UInt32, [(parent: UInt32, step: Step)])? {
        let scheme = schemeNode(of: pattern)
        if pattern.scheme != nil, scheme == 0 { return nil }
        if pattern.isFallback { return (pattern.scheme == nil ? TableNode.fallback : scheme, []) }
        var way = TreeWay(node: TableNode.root, hash: WayHash.root)
        var steps: [(parent: UInt32, step: Step)] = []
        func follow(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
            let component = seed.component(text)
            let parent = way.node
            way.hash = seed.literal(behind: way.hash, component.hash)
            way.node = findLiteral(component, text, way.hash, under: parent)
            steps.append((parent, .literal(hash: way.hash, length: text.count)))
            return way.node != 0
        }
        if let base = pattern.base, !base.utf8Span.span.withUnsafeBufferPointer(follow) { return nil }
        for piece in pattern.pieces {
            switch piece.kind {
            case .literal:
                if !withText(of: piece, in: bytes, follow) { return nil }
            case .placeholder:
                steps.append((way.node, .placeholder))
                way.hash = seed.placeholder(behind: way.hash)
                way.node = nodes[way.node].placeholder
            default:
                let name = piece.converter(in: bytes)
                let number = name.map { (converters.number(of: $0) ?? Int(UInt16.max)) + 1 } ?? 0
                let special = findSpecial(SpecialKey(piece, in: bytes, converter: number), under: way.node)
                steps.append((way.node, .special(special)))
                way.hash = seed.special(special, behind: way.hash)
                way.node = special == 0 ? 0 : specials[special].child
            }
            if way.node == 0 { return nil }
        }
        return (way.node, steps)
    }

    private func findSpecial(_ key: SpecialKey, under parent: UInt32) -> UInt32 {
        var next = nodes[parent].special
        while next != 0, SpecialKey(specials[next], in: texts) != key { next = specials[next].next }
        return next
    }

    // MARK: Taking out

    private func unlink(_ index: UInt32, before: UInt32, at node: UInt32, _ way: PatternWay?) {
        let entry = entries[index]
        if before == 0 {
            setFirst(entry.next, at: node, way)
        } else {
            entries.update(before) { $0.next = entry.next }
        }
        count -= 1
        if entry.takesDeeper { deeperTakers -= 1 }
        if entry.scheme != 0 {
            schemes -= 1
            nodes.update(entry.scheme) { $0.literals -= 1 }
        }
        priorities.remove(entry.priority)
        deadText += Int(entry.textLength) + 1
        releaseLayout(entry.layout)
        let free = freeEntry
        entries.update(index) {
            $0.textLength = 0
            $0.next = free
        }
        freeEntry = index
    }

    // From the end upwards: a node that leads nowhere goes, with the edge to it.
    private func prune(_ steps: [(parent: UInt32, step: Step)], end: UInt32) {
        var node = end
        for (parent, step) in steps.reversed() {
            guard nodes[node].isEmpty else { return }
            switch step {
            case .literal(let hash, let length): removeLiteral(hash, length, under: parent, child: node)
            case .placeholder: nodes.update(parent) { $0.placeholder = 0 }
            case .special(let special): removeSpecial(special, under: parent)
            }
            release(node)
            node = parent
        }
    }

    // A scheme's node stays while a pattern names it: entries elsewhere refer to it by number.
    private func pruneScheme(_ node: UInt32, _ pattern: RoutePattern) {
        guard let name = pattern.scheme, nodes[node].isEmpty else { return }
        let text = name.utf8Span.span.withUnsafeBufferPointer { seed.component($0).hash }
        removeLiteral(
            seed.literal(behind: WayHash.schemes, text), name.utf8.count, under: TableNode.schemes,
            child: node)
        release(node)
    }

    private func removeLiteral(_ hash: UInt64, _ length: Int, under parent: UInt32, child: UInt32) {
        edges.remove(hash: hash) { $0.parent == parent && $0.child == child }
        if length > 16 { deadText += TextArena.room(counted: length) }
        nodes.update(parent) { $0.literals -= 1 }
    }

    private func removeSpecial(_ index: UInt32, under parent: UInt32) {
        let special = specials[index]
        if nodes[parent].special == index {
            nodes.update(parent) { $0.special = special.next }
        } else {
            var before = nodes[parent].special
            while specials[before].next != index { before = specials[before].next }
            specials.update(before) { $0.next = special.next }
        }
        deadText += Int(special.prefixLength) + Int(special.suffixLength)
        let free = freeSpecial
        specials.update(index) { $0.next = free }
        freeSpecial = index
    }

    private func release(_ node: UInt32) {
        let free = freeNode
        nodes.update(node) {
            $0 = TableNode()
            $0.placeholder = free
        }
        freeNode = node
    }
}
