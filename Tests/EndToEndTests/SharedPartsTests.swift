import Testing
import Waypost

@testable import WaypostFleet

/// What many agents say alike is kept once.
@Suite struct SharedPartsTests {
    private static func document(_ number: Int64, limit: Int64) -> JSONValue {
        ["at": .int(number), "limits": ["rate": .int(limit), "list": [1, 2]], "own": ["at": .int(number)]]
    }

    /// Where the members of an object are.
    private static func place(_ value: JSONValue?) -> UInt? {
        guard case .object(let members)? = value else { return nil }
        return unsafeBitCast(members, to: UInt.self)
    }

    @Test func `parts that are equal are kept once, and documents stay what they are`() {
        var shared = SharedParts()
        let documents = (0..<10_000).map { Self.document($0, limit: $0 % 2) }
        let kept = documents.map { shared.share($0) }
        #expect(kept == documents)
        #expect(Self.place(kept[0]["limits"]) == Self.place(kept[2]["limits"]))
        #expect(Self.place(kept[0]["limits"]) != Self.place(kept[1]["limits"]))
        // What is an agent's own makes room again, so that there are few copies of what is not.
        #expect(Set(kept.map { Self.place($0["limits"]) }).count <= 8)
    }
}
