extension TableStorage {
    /// The way that leads to a pattern's entries; nil when it has other components than literals and plain
    /// placeholders, or too many.
    func way(of pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>) -> PatternWay? {
        guard !pattern.isFallback, pattern.depths.upperBound <= WayShape.deepest else { return nil }
        let way = beginning(of: pattern, in: bytes)
        return way.shape.depth == pattern.depths.upperBound ? way : nil
    }

    /// The way as far as there are literals and plain placeholders.
    private func beginning(of pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>) -> PatternWay {
        var way = PatternWay()
        if let base = pattern.base {
            base.utf8Span.span.withUnsafeBufferPointer { way.add(literal: $0, from: 0, to: $0.count, seed) }
        }
        // Without a copy of the array, and so without counting who holds it.
        let pieces = pattern.pieces.span
        for index in pieces.indices where way.shape.depth < WayShape.deepest {
            let piece = pieces[index]
            switch piece.kind {
            case .literal:
                if piece.isEncoded {
                    withText(of: piece, in: bytes) { way.add(literal: $0, from: 0, to: $0.count, seed) }
                } else {
                    way.add(literal: bytes, from: Int(piece.start), to: Int(piece.end), seed)
                }
            case .placeholder: way.addPlaceholder()
            default: return way
            }
        }
        return way
    }

    /// Makes an entry, or none, the first of those whose pattern ends at a node.
    func setFirst(_ entry: UInt32, at node: UInt32, _ way: PatternWay?) {
        let old = nodes[node].terminal
        nodes.update(node) { $0.terminal = entry }
        guard let hash = way?.hash(shapes) else { return }
        if old == 0 {
            ways.insert(HashedNumber(hash: hash, number: entry), hash: hash)
        } else if entry == 0 {
            ways.remove(hash: hash) { $0.number == old }
        } else {
            ways.update(hash: hash, where: { $0.number == old }, { $0.number = entry })
        }
    }

    /// Counts an entry of a pattern among the shapes.
    func addShape(
        of entry: TableEntry, _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>,
        _ way: PatternWay?
    ) {
        if let way { shapes.add(way) }
        countOther(entry, pattern, in: bytes, by: 1)
    }

    /// Takes it out of the count.
    func removeShape(
        of entry: TableEntry, _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>,
        _ way: PatternWay?
    ) {
        if let way { shapes.remove(way) }
        countOther(entry, pattern, in: bytes, by: -1)
    }

    private func countOther(
        _ entry: TableEntry, _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>, by change: Int
    ) {
        guard captures[Int(entry.layout)].shape == 0, !pattern.isFallback else { return }
        shapes.count(others: pattern.depths, beginning(of: pattern, in: bytes).firstPart, by: change)
    }
}
