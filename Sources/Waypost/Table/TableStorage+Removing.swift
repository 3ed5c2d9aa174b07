extension TableStorage {
    /// One step on the path to a pattern's end.
    enum Step {
        case literal(hash: UInt64, length: Int)
        case placeholder
        case nonLiteral(UInt32)
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
        let path = path(of: pattern, in: bytes)
        var removed: [UInt32] = []
        var before: UInt32 = 0
        var next = nodes[end].terminal
        while next != 0 {
            let entry = entries[next]
            if priority == nil || entry.priority == priority, holds(entry, pattern) {
                removeShape(of: entry, pattern, in: bytes, path)
                unlink(next, before: before, at: end, path)
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
        let layout = captures[Int(entry.layout)]
        return layout.optional == pattern.optional && layout.captures.map(\.name) == pattern.placeholderNames
    }

    func schemeNode(of pattern: RoutePattern) -> UInt32 {
        guard let scheme = pattern.scheme else { return 0 }
        return scheme.utf8Span.span.withUnsafeBufferPointer { text in
            text.baseAddress.map { edgeReader.scheme(seed.component(text), in: $0) } ?? 0
        }
    }

    func findEnd(
        of pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>
    ) -> (UInt32, [(parent: UInt32, step: Step)])? {
        let scheme = schemeNode(of: pattern)
        if pattern.scheme != nil, scheme == 0 { return nil }
        if pattern.isFallback { return (pattern.scheme == nil ? TableNode.fallback : scheme, []) }
        var path = TreePath(node: TableNode.root, hash: PathHash.root)
        var steps: [(parent: UInt32, step: Step)] = []
        func follow(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
            let component = seed.component(text)
            let parent = path.node
            path.hash = seed.literal(behind: path.hash, component.hash)
            path.node = findLiteral(component, text, path.hash, under: parent)
            steps.append((parent, .literal(hash: path.hash, length: text.count)))
            return path.node != 0
        }
        if let base = pattern.base, !withText(of: base, follow) { return nil }
        for piece in pattern.pieces {
            switch piece.kind {
            case .literal:
                if !withText(of: piece, in: bytes, follow) { return nil }
            case .placeholder:
                steps.append((path.node, .placeholder))
                path.hash = seed.placeholder(behind: path.hash)
                path.node = nodes[path.node].placeholder
            default:
                let key = NonLiteralKey(piece, in: bytes, ignoresCase: ignoresCase) { name in
                    name.map { (converters.number(of: converters.canonical($0)) ?? Int(UInt16.max)) + 1 } ?? 0
                }
                let nonLiteral = findNonLiteral(key, under: path.node)
                steps.append((path.node, .nonLiteral(nonLiteral)))
                path.hash = seed.nonLiteral(nonLiteral, behind: path.hash)
                path.node = nonLiteral == 0 ? 0 : nonLiterals[nonLiteral].child
            }
            if path.node == 0 { return nil }
        }
        return (path.node, steps)
    }

    private func findNonLiteral(_ key: NonLiteralKey, under parent: UInt32) -> UInt32 {
        var next = nodes[parent].nonLiteral
        while next != 0, NonLiteralKey(nonLiterals[next], in: texts) != key { next = nonLiterals[next].next }
        return next
    }

    // MARK: Taking out

    private func unlink(_ index: UInt32, before: UInt32, at node: UInt32, _ path: PatternPath?) {
        let entry = entries[index]
        if before == 0 {
            setFirst(entry.next, at: node, path)
        } else {
            entries.update(before) { $0.next = entry.next }
        }
        if !captures[Int(entry.layout)].isShorter { count -= 1 }
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
            case .nonLiteral(let nonLiteral): removeNonLiteral(nonLiteral, under: parent)
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
            seed.literal(behind: PathHash.schemes, text), name.utf8.count, under: TableNode.schemes,
            child: node)
        release(node)
    }

    private func removeLiteral(_ hash: UInt64, _ length: Int, under parent: UInt32, child: UInt32) {
        edges.remove(hash: hash) { $0.parent == parent && $0.child == child }
        if length > 16 { deadText += TextArena.space(counted: length) }
        nodes.update(parent) { $0.literals -= 1 }
    }

    private func removeNonLiteral(_ index: UInt32, under parent: UInt32) {
        let nonLiteral = nonLiterals[index]
        if nodes[parent].nonLiteral == index {
            nodes.update(parent) { $0.nonLiteral = nonLiteral.next }
        } else {
            var before = nodes[parent].nonLiteral
            while nonLiterals[before].next != index { before = nonLiterals[before].next }
            nonLiterals.update(before) { $0.next = nonLiteral.next }
        }
        deadText += nonLiteral.textLength
        let free = freeNonLiteral
        nonLiterals.update(index) { $0.next = free }
        freeNonLiteral = index
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
