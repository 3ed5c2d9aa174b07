extension TableStorage {
    /// The path that leads to a pattern's entries; nil when it has other components than literals and plain
    /// placeholders, or too many.
    func path(of pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>) -> PatternPath? {
        guard !pattern.isFallback, !ignoresCase, pattern.depths.upperBound <= PatternShape.deepest else {
            return nil
        }
        let path = beginning(of: pattern, in: bytes)
        return path.shape.depth == pattern.depths.upperBound ? path : nil
    }

    /// The path as far as there are literals and plain placeholders.
    private func beginning(of pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>) -> PatternPath {
        var path = PatternPath()
        if let base = pattern.base {
            base.utf8Span.span.withUnsafeBufferPointer { path.add(literal: $0, from: 0, to: $0.count, seed) }
        }
        // Without a copy of the array, and so without counting who holds it.
        let pieces = pattern.pieces.span
        for index in pieces.indices where path.shape.depth < PatternShape.deepest {
            let piece = pieces[index]
            switch piece.kind {
            case .literal:
                if piece.isEncoded {
                    withText(of: piece, in: bytes) { path.add(literal: $0, from: 0, to: $0.count, seed) }
                } else {
                    path.add(literal: bytes, from: Int(piece.start), to: Int(piece.end), seed)
                }
            case .placeholder: path.addPlaceholder()
            default: return path
            }
        }
        return path
    }

    /// Makes an entry, or none, the first of those whose pattern ends at a node.
    func setFirst(_ entry: UInt32, at node: UInt32, _ path: PatternPath?) {
        let old = nodes[node].terminal
        nodes.update(node) { $0.terminal = entry }
        guard let hash = path?.hash(shapes) else { return }
        if old == 0 {
            paths.insert(HashedNumber(hash: hash, number: entry), hash: hash)
        } else if entry == 0 {
            paths.remove(hash: hash) { $0.number == old }
        } else {
            paths.update(hash: hash, where: { $0.number == old }, { $0.number = entry })
        }
    }

    /// Counts an entry of a pattern among the shapes.
    func addShape(
        of entry: TableEntry, _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>,
        _ path: PatternPath?
    ) {
        if let path { shapes.add(path) }
        countOther(entry, pattern, in: bytes, by: 1)
    }

    /// Takes it out of the count.
    func removeShape(
        of entry: TableEntry, _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>,
        _ path: PatternPath?
    ) {
        if let path { shapes.remove(path) }
        countOther(entry, pattern, in: bytes, by: -1)
    }

    private func countOther(
        _ entry: TableEntry, _ pattern: RoutePattern, in bytes: UnsafeBufferPointer<UInt8>, by change: Int
    ) {
        guard captures[Int(entry.layout)].shape == 0, !pattern.isFallback, !ignoresCase else { return }
        shapes.count(others: pattern.depths, beginning(of: pattern, in: bytes).firstPart, by: change)
    }
}
