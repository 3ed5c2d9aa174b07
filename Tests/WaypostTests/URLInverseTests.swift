import Testing

@testable import Waypost

@Suite struct `URLs and the values that they are made of` {
    private struct Trip: Codable, Equatable {
        var from: String
        var to: String
        var day: Int
        var page: Int?
        var tags: [String]
        var note: String?
    }

    private static let texts = [
        "a", "b-c", "x.y", "a b", "é", "中文", "a/b?c#d&e=f", "%41", "+", "-", "7", "-5", "4.5", "true", "..",
        "",
    ]

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `a URL gives back the values that it was made of, whatever the pattern`(seed: UInt64) throws {
        var random = Seeded(seed &+ 500)
        var made = 0
        for _ in 0..<120 {
            let text = RouteTablePropertyTests.pattern(&random)
            let descriptor = try RouteDescriptor(RouteKey(text))
            // What stands for `*` is not given back.
            if descriptor.names.contains("*") { continue }
            var values: [String: JSONValue] = ["q": .string(random.pick(Self.texts)), "n": 3]
            for name in descriptor.names
            where !descriptor.pattern.optionalNames.contains(name) || random.chance(1, in: 2) {
                values[name] = .string(random.pick(Self.texts + RouteTablePropertyTests.words))
            }
            guard let url = try? descriptor.url(for: values, scheme: "s") else { continue }
            made += 1
            let found = try #require(descriptor.parameters(of: url))
            for (name, value) in values {
                #expect(Self.isSame(found[name], value), "seed \(seed), \(text), \(url), \(name)")
            }
        }
        #expect(made > 20, "seed \(seed)")
    }

    private static func isSame(_ found: JSONValue?, _ value: JSONValue) -> Bool {
        let text = value.plainText
        return switch found {
        case .int(let number): Int64(text) == number
        case .double(let number): Double(text) == number
        case .bool(let truth): text.lowercased() == "\(truth)"
        default: found == .string(text)
        }
    }

    @Test(arguments: [
        "rail://trip/:from-:to/<int:day>(/:page)", "rail://:from/:to(/<int:day>(/<int(1..9):page>))",
        "rail://x/v:day.:from_<to>.html", "rail://trip(/:note)", "rail://files/:day/<path:from>",
    ])
    func `a structure that was written into a URL is decoded from it`(pattern: String) throws {
        var random = Seeded(9)
        let descriptor = try RouteDescriptor(RouteKey(pattern))
        var made = 0
        for _ in 0..<200 {
            let trip = Trip(
                from: random.pick(Self.texts), to: random.pick(Self.texts),
                day: Int.random(in: -9...40, using: &random),
                page: random.chance(1, in: 2) ? Int.random(in: 0...12, using: &random) : nil,
                tags: (0..<Int.random(in: 0...3, using: &random)).map { _ in random.pick(Self.texts) },
                note: random.chance(1, in: 2) ? random.pick(Self.texts) : nil)
            guard let url = try? descriptor.url(from: trip) else { continue }
            made += 1
            #expect(try descriptor.parameters(of: url)?.decode(Trip.self) == trip, "\(url)")
        }
        #expect(made > 60)
    }
}
