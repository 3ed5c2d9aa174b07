import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Read lists` {
    struct Lists: Decodable, Equatable {
        var ids: [Int]?
        var words: [String]?
        var word: String?
    }

    static let rows: [(String, Lists)] = [
        ("ids=1&ids=2", Lists(ids: [1, 2])), ("ids=[1,2]", Lists(ids: [1, 2])), ("ids=1", Lists(ids: [1])),
        ("ids=%5B%5D", Lists(ids: [])), ("", Lists()), ("words=a&x=1&words=%5Bb", Lists(words: ["a", "[b"])),
        ("words=[\"a\",\"b\"]", Lists(words: ["a", "b"])), ("word=[1]&word=[2]", Lists(word: "[2]")),
        ("words=[1,true]", Lists(words: ["1", "true"])),
    ]

    @Test(arguments: rows)
    func `a query gives a list where a list is wanted`(query: String, lists: Lists) async throws {
        let router = Router()
        let seen = Guarded<[Lists]>([])
        try router.register("a://x") { request in
            let whole = try request.parameters.decode(Lists.self)
            #expect(try request.parameters.valueIfPresent("ids") == whole.ids)
            #expect(try request.parameters.valueIfPresent("words") == whole.words)
            seen.withLock { $0.append(whole) }
            return .opened()
        }
        #expect(await router.open("a://x?" + query).isSuccess)
        #expect(seen.withLock { $0 } == [lists])
    }

    @Test func `another source or an interceptor that gives the key wins over the list`() async throws {
        let router = Router()
        try router.register("a://x") { request in
            .opened(try JSONValueEncoder().encode(try request.parameters.value("ids", as: [Int].self)))
        }
        #expect(await router.open("a://x?ids=1&ids=2", parameters: ["ids": [3]]).value == [3])
        let typed = await router.open("a://x?ids=1&ids=b")
        #expect(typed.code == .badField)
        #expect(typed.detail.contains("ids[1]"))
        // Only texts stand for lists: a caller's number is the wrong type, as before.
        #expect(await router.open("a://x", parameters: ["ids": 3]).code == .badField)
        let handle = try router.intercept { _ in .rewrite(["ids": ["4"]]) }
        #expect(await router.open("a://x?ids=1&ids=2").value == [4])
        handle.cancel()
    }

    struct Values: Codable, Equatable {
        struct Part: Codable, Equatable {
            var name: String
            var size: Double?
        }

        var id: String
        var count: Int
        var ratio: Double
        var isOn: Bool
        var text: String
        var maybe: String?
        var numbers: [Int]
        var texts: [String]
        var gaps: [Int?]
        var rows: [[String]]
        var part: Part
        var parts: [Part]
        var table: [String: Int]
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `what url(from:) writes, decode reads`(seed: UInt64) throws {
        var random = Seeded(seed)
        let characters = Array("ab01[]{}:,\"\\&=+%/?# #.é中😀").map(String.init)
        func text(_ length: ClosedRange<Int> = 0...6) -> String {
            (0..<Int.random(in: length, using: &random)).map { _ in random.pick(characters) }.joined()
        }
        func list<T>(_ make: () -> T) -> [T] {
            (0..<Int.random(in: 0...3, using: &random)).map { _ in make() }
        }
        func part() -> Values.Part {
            .init(
                name: text(),
                size: random.chance(1, in: 2) ? Double(Int.random(in: -99...99, using: &random)) / 8 : nil)
        }
        func number() -> Int { Int(truncatingIfNeeded: random.next()) }
        let descriptor = try RouteDescriptor("app://values/:id/<int:count>")
        for _ in 0..<100 {
            let values = Values(
                id: "x" + text(), count: number(), ratio: Double(number()) / 1024,
                isOn: random.chance(1, in: 2), text: text(), maybe: random.chance(1, in: 2) ? text() : nil,
                numbers: list(number), texts: list { text() },
                gaps: list { random.chance(1, in: 2) ? number() : nil }, rows: list { list { text() } },
                part: part(), parts: list(part),
                table: Dictionary(list { (text(), number()) }, uniquingKeysWith: { $1 }))
            let url = try descriptor.url(from: values)
            let read = try descriptor.parameters(of: url)?.decode(Values.self)
            #expect(read == values, "seed \(seed), \(url)")
        }
    }
}
