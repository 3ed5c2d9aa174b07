/// A node, and the hash of the path to it.
struct TreePath {
    var node: UInt32
    var hash: UInt64
}

extension TableStorage {
    /// Adds a route, and returns the index that it replaced.
    func insert(
        _ pattern: RoutePattern, priority: Int64, takesDeeper: Bool, index: UInt32, replacing: Bool
    ) throws(RouteConflict) -> UInt32? {
        try pattern.text.utf8Span.span.withUnsafeBufferPointer { (bytes) throws(RouteConflict) in
            try insert(
                pattern, in: bytes, priority: priority, takesDeeper: takesDeeper, index: index,
                replacing: replacing)
        }
    }

    private func insert(
        _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>, priority: Int64, takesDeeper: Bool,
        index: UInt32, replacing: Bool
    ) throws(RouteConflict) -> UInt32? {
        let path = path(of: pattern, in: bytes)
        if let hash = path?.hash(shapes) { paths.prefetch(hash) }
        var scheme: UInt32 = 0
        if let name = pattern.scheme {
            var schemes = TreePath(node: TableNode.schemes, hash: PathHash.schemes)
            name.utf8Span.span.withUnsafeBufferPointer { follow(seed.component($0), $0, &schemes) }
            scheme = schemes.node
        }
        var captured = CapturedSegments()
        let end =
            if pattern.isFallback {
                pattern.scheme == nil ? TableNode.fallback : scheme
            } else {
                insertNodes(for: pattern, in: bytes, &captured)
            }
        // The list runs from high to low priority, and has patterns with a scheme first.
        var before: UInt32 = 0
        var next = nodes[end].terminal
        while next != 0 {
            let entry = entries[next]
            if entry.priority == priority, entry.scheme == scheme {
                guard replacing, captures[Int(entry.layout)].optional == pattern.optional else {
                    throw RouteConflict(
                        pattern: pattern.text, rival: patternText(entry), priority: Int(priority),
                        rivalIndex: entry.index)
                }
                replace(
                    next, pattern, in: bytes, path, takesDeeper: takesDeeper, index: index, captured)
                return entry.index
            }
            if entry.priority < priority { break }
            if entry.priority == priority, entry.scheme == 0, scheme != 0 { break }
            before = next
            next = entry.next
        }
        var entry = TableEntry(priority: priority, index: index, next: next, scheme: scheme, layout: 0)
        describe(&entry, pattern, in: bytes, path, captured)
        entry.takesDeeper = takesDeeper
        let new = makeEntry(entry)
        if before == 0 {
            setFirst(new, at: end, path)
        } else {
            entries.update(before) { $0.next = new }
        }
        addShape(of: entry, pattern, in: bytes, path)
        captures[Int(entry.layout)].uses += 1
        if !pattern.isShorter { count += 1 }
        priorities.add(priority)
        if takesDeeper { deeperTakers += 1 }
        if scheme != 0 {
            schemes += 1
            nodes.update(scheme) { $0.literals += 1 }
        }
        deepest = max(deepest, pattern.pieces.count + (pattern.base == nil ? 0 : 1))
        publish()
        return nil
    }

    private func replace(
        _ entry: UInt32, _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>, _ path: PatternPath?,
        takesDeeper: Bool, index: UInt32, _ captured: CapturedSegments
    ) {
        let old = entries[entry]
        removeShape(of: old, pattern, in: bytes, path)
        if old.takesDeeper != takesDeeper { deeperTakers += takesDeeper ? 1 : -1 }
        deadText += Int(old.textLength) + 1
        var new = old
        new.index = index
        new.takesDeeper = takesDeeper
        describe(&new, pattern, in: bytes, path, captured)
        captures[Int(new.layout)].uses += 1
        releaseLayout(old.layout)
        entries.update(entry) { $0 = new }
        addShape(of: new, pattern, in: bytes, path)
        publish()
    }

    // What an entry holds of its pattern.
    private func describe(
        _ entry: inout TableEntry, _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>,
        _ path: PatternPath?, _ captured: CapturedSegments
    ) {
        let start = pattern.comparablePathStart
        entry.text = texts.append(bytes)
        entry.textLength = UInt16(truncatingIfNeeded: bytes.count)
        entry.pathStart = start ?? 0
        entry.layout = number(
            of: captured, pattern, in: bytes, shape: start == nil ? 0 : path?.shape.key ?? 0)
    }

    // MARK: The path to a pattern's end

    private func insertNodes(
        for pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>, _ captured: inout CapturedSegments
    ) -> UInt32 {
        var path = TreePath(node: TableNode.root, hash: PathHash.root)
        var position = 0
        if let base = pattern.base {
            withText(of: base) { follow(seed.component($0), $0, &path) }
            position = 1
        }
        let pieces = pattern.pieces.span
        withUnsafeTemporaryAllocation(of: PathComponent.self, capacity: pieces.count) { components in
            let ahead = lookAhead(pieces, in: bytes, behind: path.hash, components)
            for index in pieces.indices {
                let piece = pieces[index]
                switch piece.kind {
                case .literal where index < ahead:
                    follow(components[index], piece.literal(in: bytes), &path)
                case .literal:
                    withText(of: piece, in: bytes) { follow(seed.component($0), $0, &path) }
                case .placeholder:
                    captured.add(piece, in: bytes, position: position, seed)
                    followPlaceholder(&path)
                case .wildcard, .rest, .typed, .partial, .several:
                    let key = NonLiteralKey(piece, in: bytes, ignoresCase: ignoresCase) {
                        converterNumber($0)
                    }
                    if piece.kind != .wildcard {
                        captured.add(piece, in: bytes, position: position, key: key, seed)
                    }
                    follow(key, &path)
                }
                position += 1
            }
        }
        return path.node
    }

    /// Fills in literals from the left as far as they stand as they are, and returns how far that was.
    ///
    /// The places of their edges are all asked for now, and not each when the one before it has come.
    private func lookAhead(
        _ pieces: Span<PatternPiece>, in bytes: UnsafeBufferPointer<UInt8>, behind start: UInt64,
        _ components: UnsafeMutableBufferPointer<PathComponent>
    ) -> Int {
        var path = start
        if ignoresCase { return 0 }
        for index in pieces.indices {
            let piece = pieces[index]
            switch piece.kind {
            case .literal where !piece.isEncoded:
                components[index] = seed.component(piece.literal(in: bytes))
                path = seed.literal(behind: path, components[index].hash)
                edges.prefetch(path)
            case .placeholder: path = seed.placeholder(behind: path)
            default: return index
            }
        }
        return pieces.count
    }

    func withText<Result>(
        of piece: PatternPiece, in bytes: UnsafeBufferPointer<UInt8>,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        let raw = piece.literal(in: bytes)
        guard piece.isEncoded || ignoresCase else { return body(raw) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(raw.count, 1)) { copy in
            guard let base = copy.baseAddress else { return body(raw) }
            var count = raw.count
            if piece.isEncoded {
                count = PercentCoding.decode(raw, into: base)
            } else {
                _ = copy.update(fromContentsOf: raw)
            }
            if ignoresCase {
                for index in 0..<count { base[index] = RouteScheme.lowercased(base[index]) }
            }
            return body(UnsafeBufferPointer(start: base, count: count))
        }
    }

    /// The same for the fixed host of Mode 2.
    func withText<Result>(of base: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        guard ignoresCase else { return base.utf8Span.span.withUnsafeBufferPointer(body) }
        return base.utf8.map { RouteScheme.lowercased($0) }.withUnsafeBufferPointer(body)
    }

    private func follow(
        _ component: PathComponent, _ text: UnsafeBufferPointer<UInt8>, _ path: inout TreePath
    ) {
        let parent = path.node
        path.hash = seed.literal(behind: path.hash, component.hash)
        path.node = findLiteral(component, text, path.hash, under: parent)
        if path.node != 0 { return }
        path.node = makeNode()
        var edge = TableEdge(
            key: TableEdge.key(parent, length: component.textLength), hash: path.hash, head: component.head,
            tail: component.tail, child: path.node)
        if edge.isLong { edge.text = texts.append(counted: text) }
        edges.insert(edge, hash: path.hash)
        nodes.update(parent) { $0.literals += 1 }
    }

    /// The node behind a literal edge, or 0; `hash` is that of the path behind it.
    func findLiteral(
        _ component: PathComponent, _ text: UnsafeBufferPointer<UInt8>, _ hash: UInt64, under parent: UInt32
    ) -> UInt32 {
        guard let base = text.baseAddress else { return 0 }
        return edgeReader.child(of: parent, hash, component, in: base)
    }

    private func followPlaceholder(_ path: inout TreePath) {
        let parent = path.node
        path.hash = seed.placeholder(behind: path.hash)
        path.node = nodes[parent].placeholder
        if path.node != 0 { return }
        let child = makeNode()
        nodes.update(parent) { $0.placeholder = child }
        path.node = child
    }

    private func follow(_ key: NonLiteralKey, _ path: inout TreePath) {
        let number = nonLiteral(key, under: path.node)
        path.hash = seed.nonLiteral(number, behind: path.hash)
        path.node = nonLiterals[number].child
    }

    private func nonLiteral(_ key: NonLiteralKey, under parent: UInt32) -> UInt32 {
        var before: UInt32 = 0
        var next = nodes[parent].nonLiteral
        while next != 0 {
            let other = NonLiteralKey(nonLiterals[next], in: texts)
            if other == key { return next }
            if key.precedes(other, converters) { break }
            before = next
            next = nonLiterals[next].next
        }
        let child = makeNode()
        let bytes = key.text
        let text = bytes.withUnsafeBufferPointer { texts.append($0) }
        let new = makeNonLiteral(
            NonLiteralEdge(
                kind: key.kind, converter: UInt16(truncatingIfNeeded: key.converter),
                prefixLength: UInt16(truncatingIfNeeded: key.prefix.count),
                suffixLength: UInt16(truncatingIfNeeded: key.suffix.count),
                furtherLength: UInt16(truncatingIfNeeded: bytes.count - key.prefix.count - key.suffix.count),
                text: text, child: child, next: next))
        if before == 0 {
            nodes.update(parent) { $0.nonLiteral = new }
        } else {
            nonLiterals.update(before) { $0.next = new }
        }
        return new
    }

    // MARK: Records

    /// The converter's number plus one, which a name that the table does not know gets now; 0 without a name.
    private func converterNumber(_ name: String?) -> Int {
        guard let name = name.map(converters.canonical) else { return 0 }
        if let number = converters.number(of: name) { return number + 1 }
        converters = converters.adding(name)
        return converters.names.count
    }

    // Most patterns capture what others do, so names are compared before they are made into strings.
    private func number(
        of captured: CapturedSegments, _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>,
        shape: UInt32
    ) -> UInt32 {
        let hash = seed.layout(captured.hash ^ UInt64(pattern.optional.bits), shape)
        let tag = HashedNumber.tag(hash)
        let known = layoutNumbers.find(hash) {
            $0.tag == tag && captures[Int($0.number)].shape == shape
                && captured.describes(captures[Int($0.number)], pattern, in: bytes)
        }
        if let known { return known.number }
        var layout = captured.layout(of: pattern, in: bytes)
        layout.shape = shape
        layout.hash = hash
        let number: UInt32
        if let free = freeLayouts.popLast() {
            number = free
            layouts.update(number) { $0 = layout.record }
            captures[Int(number)] = layout
        } else {
            number = layouts.append(layout.record)
            captures.append(layout)
        }
        layoutNumbers.insert(HashedNumber(hash: hash, number: number), hash: hash)
        return number
    }

    /// Counts one route less for a layout, which goes when it was the last.
    func releaseLayout(_ number: UInt32) {
        captures[Int(number)].uses -= 1
        guard captures[Int(number)].uses == 0 else { return }
        layoutNumbers.remove(hash: captures[Int(number)].hash) { $0.number == number }
        captures[Int(number)].captures = []
        freeLayouts.append(number)
    }

    private func makeNode() -> UInt32 {
        guard freeNode != 0 else { return nodes.append(TableNode()) }
        let index = freeNode
        freeNode = nodes[index].placeholder
        nodes.update(index) { $0 = TableNode() }
        return index
    }

    private func makeEntry(_ entry: TableEntry) -> UInt32 {
        guard freeEntry != 0 else { return entries.append(entry) }
        let index = freeEntry
        freeEntry = entries[index].next
        entries.update(index) { $0 = entry }
        return index
    }

    private func makeNonLiteral(_ nonLiteral: NonLiteralEdge) -> UInt32 {
        guard freeNonLiteral != 0 else { return nonLiterals.append(nonLiteral) }
        let index = freeNonLiteral
        freeNonLiteral = nonLiterals[index].next
        nonLiterals.update(index) { $0 = nonLiteral }
        return index
    }
}
