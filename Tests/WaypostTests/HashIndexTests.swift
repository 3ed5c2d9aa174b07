import Testing

@testable import Waypost

/// What a change makes of an index, beside a dictionary that saw the same.
@Suite struct HashIndexTests {
    private struct Model {
        var index = HashIndex<HashedNumber>()
        var numbers: [UInt64: UInt32] = [:]

        mutating func change(_ hash: UInt64, _ number: UInt32) {
            switch numbers[hash] {
            case nil:
                index.insert(HashedNumber(hash: hash, number: number), hash: hash)
                numbers[hash] = number
            case let known? where number % 3 == 0:
                index.remove(hash: hash) { $0.number == known }
                numbers[hash] = nil
            case let known?:
                index.update(hash: hash, where: { $0.number == known }, { $0.number = number })
                numbers[hash] = number
            }
        }

        func check() {
            #expect(index.count == numbers.count)
            let lost = numbers.filter { hash, number in
                index.find(hash) { $0.number == number }?.tag != HashedNumber.tag(hash)
            }
            #expect(lost.isEmpty)
        }
    }

    /// Hashes that differ in their upper half, or hardly.
    @Test(arguments: [UInt64.max << 32, 0x0000_7fff_0000_0000, 0xf000_0fff_0000_0000, 0x0000_001f_0000_0000])
    func `an index holds what a dictionary holds, however lopsided the hashes`(bits: UInt64) {
        var random = Seeded(bits)
        var model = Model()
        var earlier: [Model] = []
        for number in 1...8000 as ClosedRange<UInt32> {
            model.change(random.next() & bits, number)
            if number % 1000 == 0 {
                earlier.append(model)
                if number % 2000 == 0 { model.index.compact(into: nil) }
                model.check()
            }
        }
        let extent = MemoryExtent(byteCount: model.index.compactByteCount + model.index.byteCount)
        model.index.move(into: extent)
        model.check()
        model.index.compact(into: extent)
        model.check()
        model.change(random.next() & bits, 1)
        model.check()
        // Copies share pages with what came after them.
        for model in earlier { model.check() }
    }
}
