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
        var record = reader.pointee.hasOnePriority ? first() : 0
        if record == 0, reader.pointee.hasDeeperTakers || !reader.pointee.hasOnePriority { record = best() }
        return record == 0 ? nil : match(record, pathEnd: pathEnd)
    }

    // The references of records; 0 for none.
    @inline(__always)
    private func first() -> UInt32 {
        var sink = FirstHit()
        visitAll(&sink)
        return sink.reference
    }

    @inline(never)
    private func best() -> UInt32 {
        var sink = BestCandidate()
        visitAll(&sink)
        return sink.best?.reference ?? 0
    }

    /// The match that a record of this search makes.
    @inline(__always)
    func match(_ record: UInt32, pathEnd: Int) -> RouteMatch {
        RouteMatch(record: record, reader: reader, pathEnd: pathEnd, components: components)
    }

    /// Shows `sink` every record that takes the URL, until it has seen enough.
    ///
    /// The ranks and priorities are left for the sink to order by.
    @inline(__always)
    func visitAll<Sink: CandidateSink>(_ sink: inout Sink) {
        guard let root = reader.pointee.root, !visit(root, TableSeed.root, 0, &sink) else { return }
        // A fallback comes behind the parents, which this sink has not seen.
        if !Sink.wantsParents, reader.pointee.hasDeeperTakers { return }
        if scheme.hash != 0, showFallbacks(scheme.hash, &sink) { return }
        _ = showFallbacks(TableSeed.fallback, &sink)
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
            let traits = node.pointee.traits
            if traits.contains(.isLeaf) || depth == count {
                return show(node.pointee.first, from: depth, &sink)
            }
            if Sink.wantsParents, show(node.pointee.first, from: depth, &sink) { return true }
            if node.pointee.edges != 0 { return visitAmongEdges(node, path, depth, &sink) }
            if traits.contains(.hasLiterals) {
                let behind = behindLiteral(path, depth)
                if let child = reader.pointee.nodes.find(behind) {
                    if !traits.contains(.hasPlaceholder) {
                        node = child
                        path = behind
                        depth &+= 1
                        continue
                    }
                    if visit(child, behind, depth &+ 1, &sink) { return true }
                }
            }
            if !traits.contains(.hasPlaceholder) { return false }
            path = reader.pointee.seed.placeholder(behind: path)
            guard let child = reader.pointee.nodes.find(path) else { return false }
            node = child
            depth &+= 1
        }
    }

    @inline(__always)
    private func behindLiteral(_ path: UInt64, _ depth: Int) -> UInt64 {
        reader.pointee.seed.literal(components[depth].words(in: text), behind: path)
    }

    @inline(never)
    private func visitAmongEdges(
        _ node: UnsafePointer<TableNode>, _ path: UInt64, _ depth: Int, _ sink: inout some CandidateSink
    ) -> Bool {
        func visitChild(_ path: UInt64, if isThere: Bool) -> Bool {
            guard isThere, let child = reader.pointee.nodes.find(path) else { return false }
            return visit(child, path, depth &+ 1, &sink)
        }
        let (edges, traits, seed) = (node.pointee.edges, node.pointee.traits, reader.pointee.seed)
        return visitChild(behindLiteral(path, depth), if: traits.contains(.hasLiterals))
            || visitEdges(edges, areBehindPlaceholder: false, path, depth, &sink)
            || visitChild(seed.placeholder(behind: path), if: traits.contains(.hasPlaceholder))
            || visitEdges(edges, areBehindPlaceholder: true, path, depth, &sink)
    }

    /// Goes on with those of a list of steps that come before a plain placeholder, or behind it.
    private func visitEdges(
        _ first: UInt32, areBehindPlaceholder: Bool, _ path: UInt64, _ depth: Int,
        _ sink: inout some CandidateSink
    ) -> Bool {
        var next = first
        while next != 0 {
            let record = reader.pointee.record(next)
            let step = record.step(at: 0)
            let isBehind = step.key.kind.rawValue > NonLiteralKey.Kind.typed.rawValue
            next = record.header.pointee.next
            guard isBehind == areBehindPlaceholder, accepts(step.key, components[depth]) else { continue }
            let behind = step.hash(behind: path, reader.pointee.seed)
            guard let child = reader.pointee.nodes.find(behind) else { continue }
            // Behind a rest nothing follows, however much is left of the URL.
            let isEnough =
                step.key.kind == .rest
                ? show(child.pointee.first, from: depth &+ 1, &sink)
                : visit(child, behind, depth &+ 1, &sink)
            if isEnough { return true }
        }
        return false
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
                sink.take(
                    Candidate(reference: next, record: record.header, rank: isWhole ? .whole : .parent))
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
                if step.isLiteral || index >= depth && !accepts(step.key, components[index]) {
                    return false
                }
                step = step.next
            }
        }
        return true
    }

    private func showFallbacks(_ path: UInt64, _ sink: inout some CandidateSink) -> Bool {
        var next = reader.pointee.nodes.find(path)?.pointee.first ?? 0
        while next != 0 {
            let record = reader.pointee.record(next)
            if record.header.pointee.isFallback, record.takes(scheme) {
                let rank: CandidateRank = record.header.pointee.scheme == 0 ? .fallback : .schemeFallback
                if sink.take(Candidate(reference: next, record: record.header, rank: rank)) { return true }
            }
            next = record.header.pointee.next
        }
        return false
    }

    @inline(never)
    private func accepts(_ key: NonLiteralKey, _ component: PathComponent) -> Bool {
        let (start, length) = (Int(component.start), Int(component.textLength))
        return key.takes(UnsafeBufferPointer(start: text + start, count: length)) { hole, converter in
            let bytes = UnsafeBufferPointer(start: given + (start &+ hole.lowerBound), count: hole.count)
            return converter == 0
                || reader.pointee.converters._withUnsafeGuaranteedRef {
                    $0.accepts(bytes, converter: converter &- 1)
                }
        }
    }
}
