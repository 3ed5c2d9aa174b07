import Testing

@testable import WaypostFleet

/// What members say of themselves, where any one of them may lie.
struct MembersWordTests {
    @Test(
        arguments: [
            // What all say, or all but one, of those that were heard.
            (["a"], 1, "a", nil), (["a", "a"], 2, "a", nil), (["a", "a", "b"], 3, "a", "k2"),
            (["b", "a", "a", "a"], 4, "a", "k0"),
            // One alone says nothing for others, and two that contradict are no liar.
            (["a"], 2, nil, nil), (["a", "b"], 2, nil, nil), (["a", "a", "b", "b"], 4, nil, nil),
            (["a", "a", "b", "c"], 4, nil, nil), ([], 3, nil, nil),
        ] as [([String], Int, String?, String?)])
    func `what all but one say is their word`(
        _ said: [String], _ heard: Int, _ value: String?, _ dissenter: String?
    ) {
        let word = MembersWord(said.enumerated().map { ("k\($0)", $1) }, of: heard)
        #expect(word?.value == value && word?.dissenter == dissenter)
    }

    @Test(
        arguments: [
            ([5], 5, 5), ([5], 4, 5), ([5, 5, .max], 5, 5), ([5, 6, .max], 4, 6), ([.max, 5], 5, 5),
            ([.max, .max - 1, 5], 5, .max - 1), ([], 3, 3), ([.min, 0, .max], 0, 0), ([6, 6, 6, .max], 5, 6),
        ] as [([Int64], Int64, Int64)])
    func `an order is built on what more than half have come to, and not on the highest claim`(
        _ claims: [Int64], _ known: Int64, _ newest: Int64
    ) {
        let numbers = MembersNumbers(
            Dictionary(uniqueKeysWithValues: claims.enumerated().map { ("k\($0)", $1) }))
        #expect(numbers.newest(above: known) == newest)
        let beyond = claims.indices.filter { claims[$0] > newest }.map { "k\($0)" }
        #expect(numbers.beyond(newest) == beyond)
    }
}
