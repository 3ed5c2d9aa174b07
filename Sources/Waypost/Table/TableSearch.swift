/// One search through the tree of components.
///
/// A step takes one look at a node, which the hash of the steps so far finds; whether the literals on the way are really
/// those of the URL is seen in one go, at a record.
///
/// The tree has one path to each node, so a search visits a node at most once: however patterns and URL are made,
/// backtracking ends after as many steps as there are nodes that fit the URL's components one by one, and it goes
/// as deep as the deepest pattern, which has at most ``RoutePattern/maximumComponents`` components.
struct TableSearch {
    let reader: UnsafeMutablePointer<TableReader>
    let components: UnsafePointer<PathComponent>
    let count: Int
    /// What the components' texts lie in.
    let text: UnsafePointer<UInt8>
    /// The same with the case that it has in the URL, which is what placeholders take.
    let given: UnsafePointer<UInt8>
    let scheme: URLScheme

    /// The match that comes first in the order of §3.
    @inline(__always)
    func bestMatch(pathEnd: Int) -> RouteMatch? {
        let record = best()
        return record == 0 ? nil : match(record, pathEnd: pathEnd)
    }

    /// The match that a record of this search makes.
    @inline(__always)
    func match(_ record: UInt32, pathEnd: Int) -> RouteMatch {
        RouteMatch(record: record, reader: reader, pathEnd: pathEnd, components: components)
    }

    /// The record that comes first in the order of §3; 0 without one.
    @inline(__always)
    private func best() -> UInt32 {
        if reader.pointee.hasOnePriority {
            var sink = FirstHit()
            if visitRoot(&sink) || !reader.pointee.hasDeeperTakers && visitFallbacks(&sink) {
                return sink.record
            }
            if !reader.pointee.hasDeeperTakers { return 0 }
        }
        var sink = BestCandidate()
        visitAll(&sink)
        return sink.record
    }

    /// Shows `sink` every record that takes the URL, in the order of components; the ranks and priorities are left
    /// for the sink to order by.
    func visitAll(_ sink: inout some CandidateSink) {
        if !visitRoot(&sink) { _ = visitFallbacks(&sink) }
    }

    @inline(__always)
    private func visitRoot(_ sink: inout some CandidateSink) -> Bool {
        guard let root = reader.pointee.nodes.find(TableSeed.root) else { return false }
        return visit(root, TableSeed.root, 0, &sink)
    }

    // MARK: Nodes

    /// Shows `sink` what lies behind a node; true when it has seen enough.
    ///
    /// The hash of the path to it is taken along and not read from it, so that looking for the next node need not wait
    /// until this one has come from the memory.
    private func visit<Sink: CandidateSink>(
        _ start: UnsafePointer<TableNode>, _ startPath: UInt64, _ startDepth: Int, _ sink: inout Sink
    ) -> Bool {
        var node = start
        var path = startPath
        var depth = startDepth
        while true {
            if node.pointee.isLeaf || depth == count { return show(node.pointee.first, from: depth, &sink) }
            if Sink.wantsParents, reader.pointee.hasDeeperTakers {
                if show(node.pointee.first, from: depth, &sink) { return true }
            }
            if node.pointee.edges != 0 { return visitAmongEdges(node, path, depth, &sink) }
            let hasPlaceholder = node.pointee.hasPlaceholder
            if node.pointee.hasLiterals {
                let behind = behindLiteral(path, depth)
                if let child = reader.pointee.nodes.find(behind) {
                    if !hasPlaceholder {
                        node = child
                        path = behind
                        depth &+= 1
                        continue
                    }
                    if visit(child, behind, depth &+ 1, &sink) { return true }
                }
            }
            if !hasPlaceholder { return false }
            path = reader.pointee.seed.placeholder(behind: path)
            guard let child = reader.pointee.nodes.find(path) else { return false }
            node = child
            depth &+= 1
        }
    }

    private func visitAmongEdges<Sink: CandidateSink>(
        _ node: UnsafePointer<TableNode>, _ path: UInt64, _ depth: Int, _ sink: inout Sink
    ) -> Bool {
        func visitChild(_ path: UInt64) -> Bool {
            reader.pointee.nodes.find(path).map { visit($0, path, depth &+ 1, &sink) } ?? false
        }
        if node.pointee.hasLiterals, visitChild(behindLiteral(path, depth)) { return true }
        var next = node.pointee.edges
        var isBehindPlaceholder = false
        while true {
            let edge = next == 0 ? nil : reader.pointee.record(next)
            let step = edge.map { NonLiteralStep($0.step(at: 0).bytes) }
            if !isBehindPlaceholder,
                step.map({ $0.kind.rawValue > NonLiteralKey.Kind.typed.rawValue }) ?? true
            {
                isBehindPlaceholder = true
                if node.pointee.hasPlaceholder, visitChild(reader.pointee.seed.placeholder(behind: path)) {
                    return true
                }
            }
            guard let edge, let step else { return false }
            if accepts(step, components[depth]) {
                let behind = edge.step(at: 0).hash(behind: path, reader.pointee.seed)
                if step.kind != .rest {
                    if visitChild(behind) { return true }
                } else if let child = reader.pointee.nodes.find(behind),
                    show(child.pointee.first, from: depth &+ 1, &sink)
                {
                    // Behind a rest nothing follows, however much is left of the URL.
                    return true
                }
            }
            next = edge.header.pointee.next
        }
    }

    @inline(__always)
    private func behindLiteral(_ path: UInt64, _ depth: Int) -> UInt64 {
        reader.pointee.seed.literal(components[depth].words(in: text), behind: path)
    }

    // MARK: Records

    /// Shows `sink` the records of a list, all of one path, if they take the URL.
    @inline(__always)
    private func show<Sink: CandidateSink>(_ first: UInt32, from depth: Int, _ sink: inout Sink) -> Bool {
        if first == 0 { return false }
        let record = reader.pointee.record(first)
        let steps = Int(record.header.pointee.depth)
        let isWhole = steps == count || steps < count && record.header.pointee.endsWithRest
        guard isWhole || Sink.wantsParents && steps < count, takes(record, from: depth) else { return false }
        var next = first
        repeat {
            let record = reader.pointee.record(next)
            if isWhole || record.header.pointee.takesDeeper, record.takes(scheme),
                sink.take(next, record.header, rank: isWhole ? .whole : .parent)
            {
                return true
            }
            next = record.header.pointee.next
        } while next != 0
        return false
    }

    /// Whether the components are those of a record, whose steps before `depth` are so except for literals.
    @inline(__always)
    private func takes(_ record: RouteRecordPointer, from depth: Int) -> Bool {
        var step = PathStep(start: record.firstStep)
        for index in 0..<Int(record.header.pointee.depth) {
            let length = Int(components[index].textLength)
            if step.isLiteral(of: length) {
                if ByteWords(step.content, count: length) != components[index].words(in: text) {
                    return false
                }
                // By the length that is known already, so that the next step need not wait for this one.
                step = PathStep(start: step.content + length)
            } else if step.isPlaceholder {
                step = PathStep(start: step.content)
            } else {
                let key = UnsafeBufferPointer(start: step.content, count: step.length)
                if step.isLiteral || index >= depth && !accepts(NonLiteralStep(key), components[index]) {
                    return false
                }
                step = step.next
            }
        }
        return true
    }

    private func visitFallbacks(_ sink: inout some CandidateSink) -> Bool {
        scheme.hash != 0 && showFallbacks(scheme.hash, &sink) || showFallbacks(TableSeed.fallback, &sink)
    }

    private func showFallbacks(_ path: UInt64, _ sink: inout some CandidateSink) -> Bool {
        var next = reader.pointee.nodes.find(path)?.pointee.first ?? 0
        while next != 0 {
            let record = reader.pointee.record(next)
            if record.header.pointee.isFallback, record.takes(scheme) {
                let rank: CandidateRank = record.header.pointee.scheme == 0 ? .fallback : .schemeFallback
                if sink.take(next, record.header, rank: rank) { return true }
            }
            next = record.header.pointee.next
        }
        return false
    }

    // MARK: Components

    @inline(never)
    private func accepts(_ step: NonLiteralStep, _ component: PathComponent) -> Bool {
        let length = Int(component.textLength)
        let start = Int(component.start)
        let bytes = UnsafeBufferPointer(start: text + start, count: length)
        let given = UnsafeBufferPointer(start: given + start, count: length)
        let (prefix, suffix) = (step.prefix, step.suffix)
        guard length > prefix.count &+ suffix.count, bytes.starts(with: prefix),
            bytes.suffix(suffix.count).elementsEqual(suffix)
        else { return false }
        var converter = step.converter
        func converts(_ hole: Range<Int>) -> Bool {
            converter == 0
                || reader.pointee.converters._withUnsafeGuaranteedRef {
                    $0.accepts(UnsafeBufferPointer(rebasing: given[hole]), converter: converter &- 1)
                }
        }
        var parts = step.parts
        if parts.isEmpty { return converts(prefix.count..<length &- suffix.count) }
        var holes = SeveralHoles(bytes, prefix: prefix.count, suffix: suffix.count)
        while let part = parts.next() {
            guard let hole = holes.next(before: part.literal), converts(hole) else { return false }
            converter = part.converter
        }
        return holes.last.map(converts) ?? false
    }
}
