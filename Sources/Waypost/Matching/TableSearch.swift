/// A route that takes a URL, as a search sees it.
struct Candidate {
    /// Whole matches, then what <doc:FindingAHandler> has below them under *Which route is tried first*.
    enum Rank: UInt8 {
        case whole, parent, schemeFallback, fallback
    }

    let record: RouteRecordPointer
    let rank: Rank

    /// Whether it comes before one that was seen earlier, which of equal ones is the more specific.
    func precedes(_ other: Candidate) -> Bool {
        let (one, two) = (record.header.pointee, other.record.header.pointee)
        if one.priority != two.priority { return one.priority > two.priority }
        if rank != other.rank { return rank.rawValue < other.rank.rawValue }
        // The parent that has more components.
        return rank == .parent && one.depth > two.depth
    }
}

/// All routes that take a URL, and what finding them took.
struct AllMatches {
    /// In their order.
    var matches: [RouteMatch] = []
    /// How much of the table was looked at, in about ten nanoseconds each: the same for the same table and URL.
    var looks = 0
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
    private let reader: UnsafeMutablePointer<TableReader>
    private var url: SplitURL
    private let hits: UnsafeMutablePointer<Hits>

    /// What was found.
    private struct Hits {
        var best: Candidate?
        /// How much was looked at, in about ten nanoseconds each.
        var looks = 0
        /// All of them in the order of components, when not only the best is wanted.
        var all: UnsafeMutablePointer<[Candidate]>?

        /// Takes a hit, before the first of which nothing comes; true when it is all that is wanted.
        @inline(__always)
        mutating func take(_ hit: Candidate, isFirst: Bool) -> Bool {
            if let all {
                all.pointee.append(hit)
                return false
            }
            if isFirst || best.map(hit.precedes) ?? true { best = hit }
            return isFirst
        }
    }

    /// The match that is tried first for the URL in `bytes`, of which sixteen at least are there.
    ///
    /// With `all` they are put there in this order, and none is given.
    @inline(__always)
    static func run(
        _ reader: UnsafeMutablePointer<TableReader>, _ bytes: UnsafeBufferPointer<UInt8>,
        _ parts: RouteURLParts, _ all: UnsafeMutablePointer<AllMatches>?,
        space: UnsafeMutableBufferPointer<PathComponent>
    ) -> RouteMatch? {
        guard let text = bytes.baseAddress, let target = space.baseAddress else { return nil }
        // One behind those of the deepest pattern is enough to see that a URL is deeper.
        let limit = target + (reader.pointee.deepest &+ 1)
        let url = SplitURL(text, readable: bytes.count, parts, into: target, limit: limit)
        var hits = Hits()
        return withUnsafeMutablePointer(to: &hits) { hits in
            let search = TableSearch(reader: reader, url: url, hits: hits)
            return url.isEncoded || reader.pointee.ignoresCase ? search.findDecoded(all) : search.find(all)
        }
    }

    @inline(never)
    private func findDecoded(_ all: UnsafeMutablePointer<AllMatches>?) -> RouteMatch? {
        let space = max(Int(url.pathEnd), 16)
        let ignoresCase = reader.pointee.ignoresCase
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ignoresCase ? 2 * space : space) {
            scratch -> RouteMatch? in
            guard let given = scratch.baseAddress else { return nil }
            var search = self
            search.url.decode(into: given, lower: ignoresCase ? given + space : nil)
            return search.find(all)
        }
    }

    @inline(__always)
    private func find(_ all: UnsafeMutablePointer<AllMatches>?) -> RouteMatch? {
        if let all { return findAll(all) }
        visitAll()
        return hits.pointee.best.map(match)
    }

    @inline(never)
    private func findAll(_ found: UnsafeMutablePointer<AllMatches>) -> RouteMatch? {
        var all: [Candidate] = []
        withUnsafeMutablePointer(to: &all) {
            hits.pointee.all = $0
            visitAll()
        }
        all.sort { $0.precedes($1) }
        // A parent with optional parts may take a URL in several ways, of which the first counts.
        if all.contains(where: { $0.rank == .parent }) {
            var known: Set<String> = []
            all = all.filter { hit in
                known.insert("\(hit.record.header.pointee.priority) \(hit.record.pattern)").inserted
            }
        }
        found.pointee.matches = all.map(match)
        found.pointee.looks = hits.pointee.looks
        return nil
    }

    @inline(__always)
    private func match(_ hit: Candidate) -> RouteMatch {
        RouteMatch(hit.record, pathEnd: url.pathEnd, components: url.components)
    }

    // MARK: Nodes
    // Each of these is true when it has seen enough.

    @inline(__always)
    private func visitAll() {
        guard let root = reader.pointee.root, !walk(root, TableSeed.root, UnsafePointer(url.components)),
            let node = reader.pointee.fallback
        else { return }
        if node.pointee.traits.contains(.hasLiterals), showSchemeFallbacks() { return }
        if node.pointee.first != 0 { _ = takeAll(reader.pointee.record(node.pointee.first), as: .fallback) }
    }

    /// Looks at what lies behind a node; inlined where a search begins, for most end without a fork.
    ///
    /// The hash of the path to it is taken along and not read from it, so that looking for the next node need not wait
    /// until this one has come from the memory.
    @inline(__always)
    private func walk(
        _ start: UnsafePointer<TableNode>, _ startPath: UInt64, _ first: UnsafePointer<PathComponent>
    ) -> Bool {
        var (node, path, component) = (start, startPath, first)
        while true {
            let traits = node.pointee.traits
            if component == url.end || !traits.isDisjoint(with: [.isLeaf, .hasEdges, .hasParents]) {
                return component == url.end || traits.contains(.isLeaf)
                    ? show(node.pointee.first) : visitAmongEdges(node, path, component)
            }
            if traits.contains(.hasLiterals) {
                let behind = behindLiteral(path, component)
                if let child = reader.pointee.nodes.find(behind) {
                    if !traits.contains(.hasPlaceholder) {
                        (node, path) = (child, behind)
                        component += 1
                        continue
                    }
                    if visit(child, behind, component + 1) { return true }
                }
            }
            if !traits.contains(.hasPlaceholder) { return false }
            path = reader.pointee.seed.placeholder(behind: path)
            guard let child = reader.pointee.nodes.find(path) else { return false }
            node = child
            component += 1
        }
    }

    /// The same at a fork.
    @inline(never)
    private func visit(
        _ node: UnsafePointer<TableNode>, _ path: UInt64, _ first: UnsafePointer<PathComponent>
    ) -> Bool {
        // What is left of the path is followed, and each component's hash is made of its bytes.
        let left: Int = UnsafePointer(url.end) - first
        let bytes: Int = Int(url.pathEnd) / 16
        hits.pointee.looks &+= 4 &* (left &+ 1) &+ bytes
        return walk(node, path, first)
    }

    @inline(__always)
    private func behindLiteral(_ path: UInt64, _ component: UnsafePointer<PathComponent>) -> UInt64 {
        reader.pointee.seed.literal(component.pointee.text, behind: path)
    }

    /// The same for a node with parents, or with steps other than literals and a plain placeholder.
    @inline(never)
    private func visitAmongEdges(
        _ node: UnsafePointer<TableNode>, _ path: UInt64, _ component: UnsafePointer<PathComponent>
    ) -> Bool {
        let traits = node.pointee.traits
        if traits.contains(.hasParents), show(node.pointee.first) { return true }
        if traits.contains(.hasLiterals), visitChild(behindLiteral(path, component), component) {
            return true
        }
        var isPlaceholderNext = traits.contains(.hasPlaceholder)
        var next = node.pointee.edges
        while true {
            let edge = next == 0 ? nil : reader.pointee.record(next)
            let step = edge?.step(at: 0)
            if isPlaceholderNext, (step?.key.kind ?? .rest).rawValue > NonLiteralKey.Kind.placeholder.rawValue
            {
                isPlaceholderNext = false
                let behind = reader.pointee.seed.placeholder(behind: path)
                if visitChild(behind, component) { return true }
            }
            guard let edge, let step else { return false }
            hits.pointee.looks &+= 1 &+ component.pointee.text.length / 32
            next = edge.header.pointee.next
            guard accepts(step.key, component.pointee) else { continue }
            let behind = step.hash(behind: path, reader.pointee.seed)
            if visitChild(behind, component) { return true }
        }
    }

    private func visitChild(_ path: UInt64, _ component: UnsafePointer<PathComponent>) -> Bool {
        guard let child = reader.pointee.nodes.find(path) else { return false }
        return visit(child, path, component + 1)
    }

    @inline(never)
    private func accepts(_ key: NonLiteralKey, _ component: PathComponent) -> Bool {
        let text = UnsafeBufferPointer(start: component.text.start, count: component.text.length)
        // Converters get the case that it has in the URL.
        let given = url.text + Int(component.start)
        return key.takes(text) { hole, converter in
            let bytes = UnsafeBufferPointer(start: given + hole.lowerBound, count: hole.count)
            return converter == 0
                || reader.pointee.converters._withUnsafeGuaranteedRef {
                    $0.accepts(bytes, converter: converter &- 1)
                }
        }
    }

    @inline(never)
    private func showSchemeFallbacks() -> Bool {
        let scheme = url.scheme
        guard !scheme.isEmpty else { return false }
        // Words are read eight bytes at a time, from before the text if it is shorter.
        let path = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 8 + scheme.count) { space in
            space.initialize(repeating: 0)
            for index in scheme.indices { space[8 + index] = RouteScheme.lowercased(scheme[index]) }
            return space.baseAddress.map {
                reader.pointee.seed.literal(
                    TextKey($0 + 8, count: scheme.count), behind: TableSeed.fallback)
            }
        }
        guard let path, let node = reader.pointee.nodes.find(path), node.pointee.first != 0 else {
            return false
        }
        let record = reader.pointee.record(node.pointee.first)
        return record.header.pointee.isFallback && takeAll(record, as: .schemeFallback)
    }

    // MARK: Records

    /// Takes the records of a list, all of one path, if they take the URL.
    @inline(__always)
    private func show(_ first: UInt32) -> Bool {
        guard first != 0 else { return false }
        let record = reader.pointee.record(first)
        let behind = UnsafePointer(url.components + Int(record.header.pointee.depth))
        let isWhole = behind == url.end || behind < url.end && record.header.pointee.endsWithRest
        guard isWhole else { return behind < url.end && showParents(record, behind) }
        return haveLiterals(of: record, asFarAs: behind) && takeAll(record, as: .whole)
    }

    @inline(never)
    private func showParents(_ first: RouteRecordPointer, _ behind: UnsafePointer<PathComponent>) -> Bool {
        haveLiterals(of: first, asFarAs: behind) && takeAll(first, as: .parent)
    }

    @inline(__always)
    private func takeAll(_ first: RouteRecordPointer, as rank: Candidate.Rank) -> Bool {
        var record = first
        while true {
            let header = record.header
            let isFirst = rank == .whole && header.pointee.priority == reader.pointee.highestPriority
            if rank != .parent || header.pointee.takesDeeper,
                header.pointee.schemeLength == 0 || takesScheme(record),
                hits.pointee.take(Candidate(record: record, rank: rank), isFirst: isFirst)
            {
                return true
            }
            if header.pointee.next == 0 { return false }
            hits.pointee.looks &+= 1
            record = reader.pointee.record(header.pointee.next)
        }
    }

    @inline(never)
    private func takesScheme(_ record: RouteRecordPointer) -> Bool { record.hasScheme(url.scheme) }

    /// Whether the components as far as `end` have the literals of a record.
    @inline(__always)
    private func haveLiterals(
        of record: RouteRecordPointer, asFarAs end: UnsafePointer<PathComponent>
    ) -> Bool {
        var step = PathStep(start: record.firstStep)
        var component = UnsafePointer(url.components)
        while component < end {
            if let next = step.behindLiteral(component.pointee.text) {
                step = next
            } else if step.isPlaceholder {
                step = PathStep(start: step.content)
            } else if step.isLiteral {
                return false
            } else {
                step = step.next
            }
            component += 1
        }
        return true
    }
}
