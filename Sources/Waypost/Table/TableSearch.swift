/// One search through the tree of components.
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
    let scheme: UInt32

    /// The classes of §3, in their order.
    enum Rank: UInt8 {
        case whole, parent, schemeFallback, fallback
    }

    /// The match that comes first in the order of §3.
    @inline(__always)
    func bestMatch(pathEnd: Int) -> RouteMatch? {
        let entry = best()
        return entry == 0 ? nil : match(entry, pathEnd: pathEnd)
    }

    /// The match that an entry of this search makes.
    @inline(__always)
    func match(_ entry: UInt32, pathEnd: Int) -> RouteMatch {
        RouteMatch(entry: entry, reader: reader, pathEnd: pathEnd, components: components)
    }

    // MARK: The first hit, when all routes have one priority

    /// The first entry, in the order of §3, whose pattern takes the whole URL; 0 without one.
    ///
    /// `startPath` is the hash of the path to `start`.
    func findWhole(_ start: UInt32, _ startPath: UInt64, _ startDepth: Int) -> UInt32 {
        var index = start
        var path = startPath
        var depth = startDepth
        while depth < count {
            let behind = behindLiteral(path, depth)
            let node = reader.pointee.node(index)
            if node.pointee.nonLiteral != 0 { return findAmongNonLiteral(index, path, depth) }
            let placeholder = node.pointee.placeholder
            if node.pointee.literals != 0 {
                let child = child(of: index, behind, depth)
                if child != 0 {
                    if placeholder == 0 {
                        index = child
                        path = behind
                        depth &+= 1
                        continue
                    }
                    let found = findWhole(child, behind, depth &+ 1)
                    if found != 0 { return found }
                }
            }
            if placeholder == 0 { return 0 }
            index = placeholder
            path = behindPlaceholder(path)
            depth &+= 1
        }
        return terminal(index)
    }

    private func findAmongNonLiteral(_ index: UInt32, _ path: UInt64, _ depth: Int) -> UInt32 {
        let node = reader.pointee.node(index)
        if node.pointee.literals != 0 {
            let behind = behindLiteral(path, depth)
            let child = child(of: index, behind, depth)
            if child != 0 {
                let found = findWhole(child, behind, depth &+ 1)
                if found != 0 { return found }
            }
        }
        var next = node.pointee.nonLiteral
        while next != 0, isBeforePlaceholder(next) {
            let nonLiteral = reader.pointee.nonLiteral(next)
            if accepts(nonLiteral.pointee, components[depth]) {
                let found = findWhole(nonLiteral.pointee.child, behindNonLiteral(next, path), depth &+ 1)
                if found != 0 { return found }
            }
            next = nonLiteral.pointee.next
        }
        if node.pointee.placeholder != 0 {
            let found = findWhole(node.pointee.placeholder, behindPlaceholder(path), depth &+ 1)
            if found != 0 { return found }
        }
        while next != 0 {
            let nonLiteral = reader.pointee.nonLiteral(next)
            let found =
                nonLiteral.pointee.kind == .rest
                ? terminal(nonLiteral.pointee.child)
                : findWhole(nonLiteral.pointee.child, behindNonLiteral(next, path), depth &+ 1)
            if found != 0 { return found }
            next = nonLiteral.pointee.next
        }
        return 0
    }

    // MARK: Paths

    @inline(__always)
    private func child(of index: UInt32, _ behind: UInt64, _ depth: Int) -> UInt32 {
        reader.pointee.edges.child(of: index, behind, components[depth], in: text)
    }

    @inline(__always)
    private func behindLiteral(_ path: UInt64, _ depth: Int) -> UInt64 {
        reader.pointee.seed.literal(behind: path, components[depth].hash)
    }

    @inline(__always)
    private func behindPlaceholder(_ path: UInt64) -> UInt64 { reader.pointee.seed.placeholder(behind: path) }

    private func behindNonLiteral(_ number: UInt32, _ path: UInt64) -> UInt64 {
        reader.pointee.seed.nonLiteral(number, behind: path)
    }

    /// The first entry of a list that takes the URL's scheme.
    @inline(__always)
    func terminal(_ index: UInt32) -> UInt32 {
        reader.pointee.first(reader.pointee.node(index).pointee.terminal, scheme)
    }

    @inline(__always)
    private func isBeforePlaceholder(_ nonLiteral: UInt32) -> Bool {
        reader.pointee.nonLiteral(nonLiteral).pointee.kind.rawValue <= NonLiteralEdge.Kind.typed.rawValue
    }

    private func accepts(_ nonLiteral: NonLiteralEdge, _ component: PathComponent) -> Bool {
        let length = Int(component.textLength)
        let start = text + Int(component.textStart)
        let prefix = Int(nonLiteral.prefixLength)
        let suffix = Int(nonLiteral.suffixLength)
        guard length > prefix &+ suffix else { return false }
        if nonLiteral.kind == .partial {
            let known = reader.pointee.bytes(nonLiteral.text, count: prefix &+ suffix)
            for index in 0..<prefix where known[index] != start[index] { return false }
            for index in 0..<suffix where known[prefix &+ index] != start[length &- suffix &+ index] {
                return false
            }
        }
        if nonLiteral.furtherLength > 0 { return acceptsSeveral(nonLiteral, component) }
        if nonLiteral.converter == 0 { return true }
        let hole = UnsafeBufferPointer(
            start: given + Int(component.textStart) + prefix, count: length &- prefix &- suffix)
        return reader.pointee.converters._withUnsafeGuaranteedRef {
            $0.accepts(hole, converter: Int(nonLiteral.converter) &- 1)
        }
    }

    /// Whether the middle of a component, whose ends are known to fit, fits several placeholders.
    private func acceptsSeveral(_ nonLiteral: NonLiteralEdge, _ component: PathComponent) -> Bool {
        let start = Int(component.textStart)
        let bytes = UnsafeBufferPointer(start: text + start, count: Int(component.textLength))
        let given = UnsafeBufferPointer(start: given + start, count: Int(component.textLength))
        let known = reader.pointee.bytes(nonLiteral.text, count: nonLiteral.textLength)
        var holes = SeveralHoles(
            bytes, prefix: Int(nonLiteral.prefixLength), suffix: Int(nonLiteral.suffixLength))
        var parts = NonLiteralEdge.Parts(UnsafeBufferPointer(rebasing: known[nonLiteral.literalLength...]))
        var converter = Int(nonLiteral.converter)
        func converts(_ hole: Range<Int>) -> Bool {
            converter == 0
                || reader.pointee.converters._withUnsafeGuaranteedRef {
                    $0.accepts(UnsafeBufferPointer(rebasing: given[hole]), converter: converter &- 1)
                }
        }
        while let part = parts.next() {
            guard let hole = holes.next(before: part.literal), converts(hole) else { return false }
            converter = part.converter
        }
        return holes.last.map(converts) ?? false
    }

    // MARK: All hits

    /// Shows `sink` every entry that takes the URL, in the order of components; the ranks and priorities are left
    /// for the sink to order by.
    func visitAll(_ sink: inout some CandidateSink) {
        visit(TableNode.root, PathHash.root, 0, &sink)
        if scheme != 0, scheme != TableNode.unknownScheme {
            visitTerminal(scheme, .schemeFallback, 0, &sink)
        }
        visitTerminal(TableNode.fallback, .fallback, 0, &sink)
    }

    private func visitTerminal(_ index: UInt32, _ rank: Rank, _ depth: Int, _ sink: inout some CandidateSink)
    {
        var next = reader.pointee.node(index).pointee.terminal
        while next != 0 {
            let entry = reader.pointee.entry(next)
            if entry.pointee.scheme == 0 || entry.pointee.scheme == scheme,
                rank != .parent || entry.pointee.takesDeeper
            {
                sink.take(next, priority: entry.pointee.priority, rank: rank, depth: depth)
            }
            next = entry.pointee.next
        }
    }

    private func visit(_ index: UInt32, _ path: UInt64, _ depth: Int, _ sink: inout some CandidateSink) {
        if depth == count {
            visitTerminal(index, .whole, depth, &sink)
            return
        }
        if reader.pointee.hasDeeperTakers { visitTerminal(index, .parent, depth, &sink) }
        let node = reader.pointee.node(index).pointee
        if node.literals != 0 {
            let behind = behindLiteral(path, depth)
            let child = child(of: index, behind, depth)
            if child != 0 { visit(child, behind, depth &+ 1, &sink) }
        }
        var next = node.nonLiteral
        while next != 0, isBeforePlaceholder(next) {
            let nonLiteral = reader.pointee.nonLiteral(next).pointee
            if accepts(nonLiteral, components[depth]) {
                visit(nonLiteral.child, behindNonLiteral(next, path), depth &+ 1, &sink)
            }
            next = nonLiteral.next
        }
        if node.placeholder != 0 { visit(node.placeholder, behindPlaceholder(path), depth &+ 1, &sink) }
        while next != 0 {
            let nonLiteral = reader.pointee.nonLiteral(next).pointee
            if nonLiteral.kind == .rest {
                visitTerminal(nonLiteral.child, .whole, depth, &sink)
            } else {
                visit(nonLiteral.child, behindNonLiteral(next, path), depth &+ 1, &sink)
            }
            next = nonLiteral.next
        }
    }

    // MARK: The best

    /// The entry that comes first in the order of §3; 0 without one.
    @inline(__always)
    func best() -> UInt32 {
        if reader.pointee.hasOnePriority {
            let found = findWhole(TableNode.root, PathHash.root, 0)
            if found != 0 { return found }
            if !reader.pointee.hasDeeperTakers { return reader.pointee.fallback(scheme) }
        }
        var sink = BestCandidate()
        visitAll(&sink)
        return sink.entry
    }
}

/// What a search shows its hits to.
protocol CandidateSink {
    mutating func take(_ entry: UInt32, priority: Int64, rank: TableSearch.Rank, depth: Int)
}

/// Keeps the best hit; of equal ones the first, which is the more specific.
struct BestCandidate: CandidateSink {
    private(set) var entry: UInt32 = 0
    private var priority: Int64 = 0
    private var rank = TableSearch.Rank.whole
    private var depth = 0

    mutating func take(_ entry: UInt32, priority: Int64, rank: TableSearch.Rank, depth: Int) {
        if self.entry != 0 {
            if priority < self.priority { return }
            if priority == self.priority {
                if rank.rawValue > self.rank.rawValue { return }
                if rank == self.rank, rank != .parent || depth <= self.depth { return }
            }
        }
        self.entry = entry
        self.priority = priority
        self.rank = rank
        self.depth = depth
    }
}

/// Keeps all of them, to be tried one after the other.
struct CandidateList: CandidateSink {
    private struct Candidate {
        var entry: UInt32
        var priority: Int64
        var rank: TableSearch.Rank
        var depth: Int
        var sequence: Int
    }

    private var candidates: [Candidate] = []

    mutating func take(_ entry: UInt32, priority: Int64, rank: TableSearch.Rank, depth: Int) {
        candidates.append(
            Candidate(
                entry: entry, priority: priority, rank: rank, depth: rank == .parent ? depth : 0,
                sequence: candidates.count))
    }

    /// The entries in the order of §3.
    func sorted() -> [UInt32] {
        candidates.sorted { one, other in
            if one.priority != other.priority { return one.priority > other.priority }
            if one.rank != other.rank { return one.rank.rawValue < other.rank.rawValue }
            if one.depth != other.depth { return one.depth > other.depth }
            return one.sequence < other.sequence
        }.map(\.entry)
    }
}
