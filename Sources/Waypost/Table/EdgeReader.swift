/// What looking for literal edges takes.
struct EdgeReader {
    var chunks: UnsafeMutablePointer<HashIndex<TableEdge>.Chunk>
    var shift: UInt64
    var texts: TextArena.Directory
    var seed: TableSeed

    /// The node behind the literal edge for `component`, or 0.
    ///
    /// `hash` is that of the path behind the edge, and `text` what the component's text lies in.
    @inline(__always)
    func child(
        of parent: UInt32, _ hash: UInt64, _ component: PathComponent, in text: UnsafePointer<UInt8>
    ) -> UInt32 {
        let chunk = chunks + Int(truncatingIfNeeded: hash &>> shift)
        let key = TableEdge.key(parent, length: component.textLength)
        var place = chunk.pointee.home(hash)
        while true {
            let edge = chunk.pointee.places + place
            if edge.pointee.key == key, edge.pointee.head == component.head,
                edge.pointee.tail == component.tail,
                component.textLength <= 16 || isEqual(edge, component, in: text)
            {
                return edge.pointee.child
            }
            if edge.pointee.isEmpty { return 0 }
            place &+= 1
            if place == Int(chunk.pointee.capacity) { place = 0 }
        }
    }

    /// The node of a scheme, or 0.
    @inline(__always)
    func scheme(_ component: PathComponent, in text: UnsafePointer<UInt8>) -> UInt32 {
        child(
            of: TableNode.schemes, seed.literal(behind: PathHash.schemes, component.hash), component, in: text
        )
    }

    @inline(never)
    private func isEqual(
        _ edge: UnsafeMutablePointer<TableEdge>, _ component: PathComponent, in text: UnsafePointer<UInt8>
    ) -> Bool {
        let known = TextArena.counted(edge.pointee.text, in: texts)
        let text = text + Int(component.textStart)
        guard known.count == Int(component.textLength) else { return false }
        for index in 16..<known.count where known[index] != text[index] { return false }
        return true
    }
}
