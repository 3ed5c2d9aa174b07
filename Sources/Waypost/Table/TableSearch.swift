/// What is made of a search.
///
/// Not a function that is handed on: a call by reference would cost more than a step of the search.
protocol TableQuery {
    associatedtype Result

    func result(of search: TableSearch) -> Result?
}

/// The match that comes first in the order of §3.
struct BestMatch: TableQuery {
    let pathEnd: Int

    @inline(__always)
    func result(of search: TableSearch) -> RouteMatch? {
        let reader = search.reader
        var record = reader.pointee.hasOnePriority ? search.first() : 0
        if record == 0, reader.pointee.hasDeeperTakers || !reader.pointee.hasOnePriority {
            record = search.best()
        }
        return record == 0 ? nil : search.match(record, pathEnd: pathEnd)
    }
}

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
    /// What lies behind the last one.
    let end: UnsafePointer<PathComponent>
    /// What the components' texts lie in.
    let text: UnsafePointer<UInt8>
    /// The same with the case that it has in the URL, which is what placeholders take.
    let given: UnsafePointer<UInt8>
    let scheme: URLScheme

    // The references of records; 0 for none.
    @inline(__always)
    fileprivate func first() -> UInt32 {
        var sink = FirstHit()
        visitAll(&sink)
        return sink.reference
    }

    @inline(never)
    fileprivate func best() -> UInt32 {
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
        guard let root = reader.pointee.root, !visit(root, TableSeed.root, components, &sink) else { return }
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
        _ start: UnsafePointer<TableNode>, _ startPath: UInt64, _ first: UnsafePointer<PathComponent>,
        _ sink: inout Sink
    ) -> Bool {
        var node = start
        var path = startPath
        var component = first
        while true {
            let traits = node.pointee.traits
            if component == end || !traits.isDisjoint(with: [.isLeaf, .hasEdges]) {
                return component == end || traits.contains(.isLeaf)
                    ? show(node.pointee.first, from: component, &sink)
                    : visitAmongEdges(node, path, component, &sink)
            }
            if Sink.wantsParents, show(node.pointee.first, from: component, &sink) { return true }
            if traits.contains(.hasLiterals) {
                let behind = behindLiteral(path, component)
                if let child = reader.pointee.nodes.find(behind) {
                    if !traits.contains(.hasPlaceholder) {
                        node = child
                        path = behind
                        component += 1
                        continue
                    }
                    if visit(child, behind, component + 1, &sink) { return true }
                }
            }
            if !traits.contains(.hasPlaceholder) { return false }
            path = reader.pointee.seed.placeholder(behind: path)
            guard let child = reader.pointee.nodes.find(path) else { return false }
            node = child
            component += 1
        }
    }

    @inline(__always)
    private func behindLiteral(_ path: UInt64, _ component: UnsafePointer<PathComponent>) -> UInt64 {
        reader.pointee.seed.literal(component.pointee.words(in: text), behind: path)
    }

    @inline(never)
    private func visitAmongEdges<Sink: CandidateSink>(
        _ node: UnsafePointer<TableNode>, _ path: UInt64, _ component: UnsafePointer<PathComponent>,
        _ sink: inout Sink
    ) -> Bool {
        if Sink.wantsParents, show(node.pointee.first, from: component, &sink) { return true }
        func visitChild(_ path: UInt64, if isThere: Bool) -> Bool {
            guard isThere, let child = reader.pointee.nodes.find(path) else { return false }
            return visit(child, path, component + 1, &sink)
        }
        let (edges, traits, seed) = (node.pointee.edges, node.pointee.traits, reader.pointee.seed)
        return visitChild(behindLiteral(path, component), if: traits.contains(.hasLiterals))
            || visitEdges(edges, areBehindPlaceholder: false, path, component, &sink)
            || visitChild(seed.placeholder(behind: path), if: traits.contains(.hasPlaceholder))
            || visitEdges(edges, areBehindPlaceholder: true, path, component, &sink)
    }

    /// Goes on with those of a list of steps that come before a plain placeholder, or behind it.
    private func visitEdges(
        _ first: UInt32, areBehindPlaceholder: Bool, _ path: UInt64,
        _ component: UnsafePointer<PathComponent>, _ sink: inout some CandidateSink
    ) -> Bool {
        var next = first
        while next != 0 {
            let record = reader.pointee.record(next)
            let step = record.step(at: 0)
            let isBehind = step.key.kind.rawValue > NonLiteralKey.Kind.typed.rawValue
            next = record.header.pointee.next
            guard isBehind == areBehindPlaceholder, accepts(step.key, component.pointee) else { continue }
            let behind = step.hash(behind: path, reader.pointee.seed)
            guard let child = reader.pointee.nodes.find(behind) else { continue }
            // Behind a rest nothing follows, however much is left of the URL.
            let isEnough =
                step.key.kind == .rest
                ? show(child.pointee.first, from: component + 1, &sink)
                : visit(child, behind, component + 1, &sink)
            if isEnough { return true }
        }
        return false
    }

    // MARK: Records

    /// Shows `sink` the records of a list, all of one path, if they take the URL.
    @inline(__always)
    private func show<Sink: CandidateSink>(
        _ first: UInt32, from component: UnsafePointer<PathComponent>, _ sink: inout Sink
    ) -> Bool {
        if first == 0 { return false }
        let record = reader.pointee.record(first)
        let behind = components + Int(record.header.pointee.depth)
        let isWhole = behind == end || behind < end && record.header.pointee.endsWithRest
        guard isWhole || Sink.wantsParents && behind < end, takes(record, to: behind, checked: component)
        else { return false }
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

    /// Whether the components as far as `end` are those of a record; before `checked` they are so except for literals.
    @inline(__always)
    private func takes(
        _ record: RouteRecordPointer, to end: UnsafePointer<PathComponent>,
        checked: UnsafePointer<PathComponent>
    ) -> Bool {
        var step = PathStep(start: record.firstStep)
        var component = components
        while component < end {
            if let next = step.behindLiteral(component.pointee, in: text) {
                step = next
            } else if step.isPlaceholder {
                step = PathStep(start: step.content)
            } else {
                if step.isLiteral || component >= checked && !accepts(step.key, component.pointee) {
                    return false
                }
                step = step.next
            }
            component += 1
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
