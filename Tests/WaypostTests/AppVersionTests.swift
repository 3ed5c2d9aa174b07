import Testing

@testable import Waypost

/// The order of versions: Semantic Versioning 2.0.0, item 11, and what builds of apps have beside it.
@Suite struct `Order versions` {
    /// Rising, each group equal; with the examples of 11.2 to 11.4 in their order.
    static let rising: [[String]] = [
        ["0", "0.0", "0.0.0", "00"], ["0.9.9"],
        ["1.0.0--5"], ["1.0.0--5.1"], ["1.0.0-0A"],
        ["1.0.0-alpha", "1.0-alpha", "1-alpha+a-b.c", "1.0.0-alpha+001"],
        ["1.0.0-alpha.1", "1.0.0-alpha.01"], ["1.0.0-alpha.beta"], ["1.0.0-beta"], ["1.0.0-beta.2"],
        ["1.0.0-beta.11"], ["1.0.0-beta.100000000000000000000"], ["1.0.0-beta.100000000000000000001"],
        ["1.0.0-beta.-1"], ["1.0.0-beta.a.b.c.d.e.f.g.h.i.j"], ["1.0.0-rc.1"],
        ["1.0.0", "1.0.0+20130313144700", "1.0.0+21AF26D3----117B344092BD"],
        ["1.0.0.0.0.0.0.0.0.1"], ["2.0.0"], ["2.1.0"], ["2.1.1", "2.01.1"], ["2.9"], ["2.10"],
        ["2024.7.15"], ["18446744073709551616"], ["100000000000000000000"],
    ]

    @Test func `all pairs are ordered as in the list`() throws {
        // A number comes before any text, whatever their digits: 11.4.3.
        let all = [["1.0.0-100000000000000000000"]] + Self.rising.dropFirst(2)
        for list in [Self.rising, all] {
            let versions = try list.map { try $0.map { try #require(AppVersion($0), "\($0)") } }
            for (place, group) in versions.enumerated() {
                for (other, rivals) in versions.enumerated() {
                    for one in group {
                        for two in rivals {
                            #expect((one < two) == (place < other), "\(list[place]) \(list[other])")
                            #expect((one == two) == (place == other), "\(list[place]) \(list[other])")
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: [
        "", "x", "v1.0", "1.x", "1..0", ".1", "1.", "-1", "1-", "1.0-a..b", "1.0-.a", "+1", "1 0", "１.0",
        "1.-a",
    ])
    func `what is no version is none`(text: String) {
        #expect(AppVersion(text) == nil)
    }

    @Test(arguments: [
        ("=1.0.0-9223372036854775808", "1.0.0-9223372036854775809", false),
        (">1.0.0-9223372036854775807", "1.0.0-9223372036854775808", true),
        (">=1.0.0-100000000000000000000 <1.0.0-a", "1.0.0-100000000000000000000", true),
        (">1.0.0--5", "1.0.0-4", false), (">1.0.0-4", "1.0.0--5", true), ("<1.0.0-01", "1.0.0-1", false),
        (">=99999999999999999999", "100000000000000000000", true),
    ])
    func `a range holds numbers of any length`(range: String, version: String, holds: Bool) throws {
        let version = try #require(AppVersion(version))
        #expect(try #require(VersionRange(range)).contains(version) == holds)
    }
}
