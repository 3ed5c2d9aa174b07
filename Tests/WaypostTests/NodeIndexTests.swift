import Testing

@testable import Waypost
@testable import WaypostTools

/// What a change makes of an index, beside a dictionary that saw the same.
@Suite struct NodeIndexTests {
    private struct Model {
        var index = NodeIndex()
        var numbers: [UInt64: UInt32] = [:]

        mutating func change(_ hash: UInt64, _ number: UInt32) {
            index.update(hash) { $0.first = number }
            numbers[hash] = number
        }

        func check() {
            #expect(index.count == numbers.count)
            let lost = numbers.filter { hash, number in index[hash]?.first != number }
            #expect(lost.isEmpty)
        }
    }

    /// Hashes that differ in their upper half, or hardly.
    @Test(arguments: [UInt64.max << 32, 0x0000_7fff_0000_0000, 0xf000_0fff_0000_0000, 0x0000_001f_0000_0000])
    func `an index holds what a dictionary holds, however lopsided the hashes`(bits: UInt64) {
        var random = Seeded(bits)
        var model = Model()
        var earlier: [Model] = []
        for number in 1...4000 as ClosedRange<UInt32> {
            model.change(random.next() & bits | 1, number)
            if number % 500 == 0 {
                earlier.append(model)
                model.check()
            }
        }
        // Copies share pages with what came after them.
        for model in earlier { model.check() }
    }

    @Test func `a table whose hashes collide takes another seed`() throws {
        // With it, all literals of up to eight bytes have one hash.
        let seed = TableSeed(first: 0, second: 0)
        var table = RouteTable(seed: seed)
        let patterns = ["/a/x", "/b/x", "/b/:id/c", "s://b/x", "s://", "t://", "/c/v:n", "/c/w:n"]
        for (index, text) in patterns.enumerated() {
            try table.add(table.pattern(text), index: UInt32(index))
        }
        #expect(table.storage.seed.first != seed.first)
        #expect(table.routes.sorted { $0.index < $1.index }.map(\.pattern) == patterns)
        #expect(try table.firstMatch(RouteURL("/b/x"))?.index == 1)
        #expect(try table.firstMatch(RouteURL("S://b/x"))?.index == 3)
        #expect(try table.firstMatch(RouteURL("t://b/y"))?.index == 5)
        #expect(try table.match(RouteURL("s://c/w1")).map(\.index) == [7, 4])
    }
}
