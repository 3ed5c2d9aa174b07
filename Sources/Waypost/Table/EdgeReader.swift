/// What looking for literal edges takes.
struct EdgeReader {
    var chunks: UnsafeMutablePointer<HashIndex<TableEdge>.Chunk>
    var shift: UInt64
    var texts: TextArena.Directory
    var seed: TableSeed

    /// The node behind the literal edge for `component`, or 0.
    ///
    /// `text` is what the component's text lies in.
    @inline(__always)
    func child(of parent: UInt32, _ component: PathComponent, in text: UnsafePointer<UInt8>) -> UInt32 {
        let hash = seed.edge(parent, component.hash)
        let chunk = chunks + Int(truncatingIfNeeded: hash &>> shift)
        let key = TableEdge.key(parent, length: component.textLength)
        var place = chunk.pointee.home(hash)
        while true {
            let edge = chunk.pointee.places + place
            // A length beyond 16 bits equals none: no pattern is that long.
            if edge.pointee.key == key, edge.pointee.head == component.head,
                edge.pointee.tail == component.tail,
                component.textLength <= 16 || isEqual(edge, text + Int(component.textStart))
            {
                return edge.pointee.child
            }
            if edge.pointee.isEmpty { return 0 }
            place &+= 1
            if place == Int(chunk.pointee.capacity) { place = 0 }
        }
    }

    @inline(never)
    private func isEqual(_ edge: UnsafeMutablePointer<TableEdge>, _ text: UnsafePointer<UInt8>) -> Bool {
        let known = TextArena.text(edge.pointee.text, in: texts)
        for index in 16..<Int(edge.pointee.length) where known[index] != text[index] { return false }
        return true
    }
}
