import Testing
import WaypostMessages

@testable import WaypostBackend

/// Which documents `undo` puts together, from what an agent keeps of its layers.
@Suite struct `The map before` {
    /// A document that was in force from a time until another.
    private static func past(_ name: String, _ from: Int64, _ until: Int64? = nil, added: Int = 1)
        -> MapRevision
    {
        MapRevision(
            layer: "", revision: nil, digest: name, author: nil, from: from, until: until, bytes: nil,
            changes: .init(added: added, removed: 0, changed: 0))
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var own: [MapRevision]
        var patches: [MapRevision] = []
        var sent: String?
        /// The map and the patches; nil where there is nothing to undo.
        var before: [String?]?
    }

    static let rows = [
        Row(
            testDescription: "a map over another", own: [past("m2", 20), past("m1", 10, 20)],
            before: ["m1", nil]),
        Row(testDescription: "the first map", own: [past("m1", 10)], before: [nil, nil]),
        Row(
            testDescription: "a map that ended patches: those come back with theirs",
            own: [past("m2", 20), past("m1", 10, 20)], patches: [past("p1", 15, 20)], before: ["m1", "p1"]),
        Row(
            testDescription: "patches of an older map stay where they are",
            own: [past("m3", 30), past("m2", 20, 30), past("m1", 10, 20)], patches: [past("p1", 15, 20)],
            before: ["m2", nil]),
        Row(
            testDescription: "a patch over a patch", own: [past("m1", 10)],
            patches: [past("p2", 20), past("p1", 15, 20)], before: ["m1", "p1"]),
        Row(
            testDescription: "the first patch of a map, and those of the map before",
            own: [past("m2", 20), past("m1", 10, 20)], patches: [past("p2", 30), past("p1", 15, 20)],
            before: ["m2", nil]),
        Row(
            testDescription: "the same when map and patch came at once",
            own: [past("m2", 20), past("m1", 10, 20)], patches: [past("p2", 20), past("p1", 15, 20)],
            before: ["m2", nil]),
        Row(
            testDescription: "a patch that expired long ago", own: [past("m1", 10)],
            patches: [past("p2", 30), past("p1", 15, 20)], before: ["m1", nil]),
        Row(
            testDescription: "a patch without a map", own: [], patches: [past("p1", 10)],
            before: [nil, nil]),
        Row(
            testDescription: "what was sent last was refused", own: [past("m1", 10)],
            patches: [past("p1", 15)], sent: "m2", before: ["m1", "p1"]),
        Row(
            testDescription: "refused, and the patches of an older map",
            own: [past("m2", 20), past("m1", 10, 20)], patches: [past("p1", 15, 20)], sent: "m3",
            before: ["m2", nil]),
        Row(
            testDescription: "what was sent last is in force", own: [past("m2", 20), past("m1", 10, 20)],
            sent: "m2", before: ["m1", nil]),
        Row(testDescription: "nothing at all", own: []),
        Row(
            testDescription: "one before that is not kept",
            own: [
                MapRevision(
                    layer: "", revision: 9, digest: "m9", author: nil, from: 90, until: nil, bytes: nil,
                    changes: .init(added: 0, removed: 1, changed: 0))
            ]),
    ]

    @Test(arguments: rows) func `is the map before the last change with its own patches and no others`(
        _ row: Row
    ) throws {
        let (own, patches) = (LayerHistory("k1", row.own), LayerHistory("k1", row.patches))
        guard let wanted = row.before else {
            #expect(throws: BackendError.self) {
                try MapBefore(own: own, patches: patches, sent: row.sent)
            }
            return
        }
        let before = try MapBefore(own: own, patches: patches, sent: row.sent)
        #expect([before.own?.digest, before.patches?.digest] == wanted)
    }
}
