import Testing

@testable import Waypost
@testable import WaypostTools

@Suite struct `Check conditions` {
    func findings(_ conditions: [JSONValue?]) throws -> [String] {
        let entries = conditions.enumerated().map { number, when in
            `Relocation conditions`.entry("a://x", "a://\(number % 2)", when)
        }
        let layer = RelocationLayer(name: "map", entries: try RelocationEntry.list(.array(entries)))
        let routes = ["a://x", "a://0", "a://1"].map { RouteDescription(path: $0) }
        return Router.check(routes: routes, layers: [layer]).findings
            .filter { $0.kind == .neverApplies || $0.kind == .overlap }
            .map { "\($0.kind.rawValue): \($0.detail)" }
    }

    static let contradictions: [(JSONValue, String)] = [
        (["after": 5, "before": 5], "before 5 is not later than after 5"),
        (["share": ["percent": 0, "salt": "s"]], "share 0 % of salt s matches no client"),
        (["build": ">=3 <2"], "no version matches build >=3 <2"), (["build": ">2 <=2.0"], "no version"),
        (["moon": "full"], "when.moon is unknown"),
        (["share": 10], "when.share is an integer; it must be an object"),
    ]

    @Test(arguments: contradictions)
    func `a condition that never holds is named`(when: JSONValue, text: String) throws {
        let found = try findings([when, nil])
        #expect(found.count == 1)
        #expect(found.first?.contains(text) == true, "\(found)")
        #expect(found.first?.hasPrefix("neverApplies: entry 1 of map (a://x): ") == true)
    }

    static let pairs: [(JSONValue, JSONValue, String?)] = [
        (["locale": "de"], ["locale": "fr"], nil), (["locale": "de"], ["locale": "de-AT"], "overlap"),
        (["locale": ["de", "fr"]], ["locale": "fr"], "neverApplies"),
        (["labels": ["r": "eu"]], ["labels": ["r": "us"]], nil),
        (["labels": ["r": "eu"]], ["labels": ["t": "gold"]], "overlap"),
        (["labels": ["r": "eu"]], ["labels": ["r": "eu", "t": "gold"]], "neverApplies"),
        (["build": "<2"], ["build": ">=2"], nil), (["build": "<2"], ["build": ">=1"], "overlap"),
        (["after": 1, "before": 5], ["after": 5], nil), (["before": 5], ["after": 4], "overlap"),
        (["share": ["percent": 20, "salt": "s"]], ["share": ["percent": 10, "salt": "s"]], "neverApplies"),
        (["share": ["percent": 10, "salt": "s"]], ["share": ["percent": 20, "salt": "s"]], "overlap"),
        ([:], ["locale": "de"], "neverApplies"),
    ]

    @Test(arguments: pairs)
    func `conditions that hold together are named`(one: JSONValue, other: JSONValue, kind: String?) throws {
        let found = try findings([one, other, nil])
        #expect(found.count == (kind == nil ? 0 : 1), "\(found)")
        if let kind {
            #expect(found.first?.hasPrefix("\(kind): entry 2 of map (a://x): ") == true, "\(found)")
        }
    }
}
