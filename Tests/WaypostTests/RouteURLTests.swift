import Testing

@testable import Waypost

@Suite struct RouteURLTests {
    @Test(
        arguments: [
            ("myapp://orders/42?tab=items#top", "myapp", ["orders", "42"], "tab=items", "top"),
            ("  MyApp://u:p@Orders:80//42/ \n", "myapp", ["Orders", "42"], nil, nil),
            ("/a//b/", "", ["a", "b"], nil, nil),
            ("a/b", "", ["a", "b"], nil, nil),
            ("s://", "s", [], nil, nil),
            ("s:///a", "s", ["a"], nil, nil),
            ("s://a/b%2Fc/%zz/%4", "s", ["a", "b/c", "%zz", "%4"], nil, nil),
            ("s://a?u=http://x/y?z=1&v#f?g#h", "s", ["a"], "u=http://x/y?z=1&v", "f?g#h"),
            ("s://a#f?x", "s", ["a"], nil, "f?x"),
            ("s://a?", "s", ["a"], "", nil),
            ("s://[::1]:8080/x", "s", ["[::1]", "x"], nil, nil),
            ("/a:b/c", "", ["a:b", "c"], nil, nil),
            ("1:2", "", ["1:2"], nil, nil),
            ("tel:112", "tel", ["112"], nil, nil),
            ("MAILTO:a@b?subject=x", "mailto", ["a@b"], "subject=x", nil),
            ("app:/x//y", "app", ["x", "y"], nil, nil),
            ("a:", "a", [], nil, nil),
            ("HTTPS://u@EXAMPLE.com:443/A", "https", ["example.com", "A"], nil, nil),
            ("app://Orders/A", "app", ["Orders", "A"], nil, nil),
            ("a/b://c", "", ["a", "b:", "c"], nil, nil),
            ("x?u=a://b", "", ["x"], "u=a://b", nil),
            ("...", "", ["..."], nil, nil),
            (".a/b./..c", "", [".a", "b.", "..c"], nil, nil),
            ("\u{3000}s://中/文\u{a0}", "s", ["中", "文"], nil, nil),
            ("long-scheme.with+more-than-16://a", "long-scheme.with+more-than-16", ["a"], nil, nil),
        ] as [(String, String, [String], String?, String?)])
    func `the parts of a URL are found`(
        text: String, scheme: String, components: [String], query: String?, fragment: String?
    ) throws {
        let url = try RouteURL(text)
        #expect(url.scheme == scheme)
        #expect(url.components == components)
        #expect(url.host == components.first ?? "")
        #expect(url.queryText == query)
        #expect(url.fragment == fragment)
    }

    @Test(
        arguments: [
            ("", 0, .empty), (" \t\n", 0, .empty), ("1s://a", 0, .invalidScheme),
            ("s_s://a", 1, .invalidScheme),
            ("://a", 0, .invalidScheme), ("中://a", 0, .invalidScheme), ("s://a:b/c", 6, .invalidPort),
            ("s://a/./b", 6, .dotComponent), ("s://a/..", 6, .dotComponent), ("s://../a", 4, .dotComponent),
            ("../a", 0, .dotComponent), ("app:../a", 4, .dotComponent), ("tel:%2e", 4, .dotComponent),
            ("https:/a", 5, .ambiguousHost), ("tel:1\u{0}", 5, .controlCharacter),
            ("s://u@..", 6, .dotComponent), ("s://a/%2e%2E/b", 6, .dotComponent),
            ("s://a/.%2e", 6, .dotComponent), ("/.?q", 1, .dotComponent),
            ("s://a/b\u{0}c", 7, .controlCharacter),
            ("s://a/b%00c", 7, .controlCharacter), ("s://a/%7f", 6, .controlCharacter),
            ("s://a/b\nc", 7, .controlCharacter),
            ("s://a/\u{85}x", 6, .controlCharacter), ("s://a/%C2%85", 9, .controlCharacter),
            ("s://a?b=\u{1}", 8, .controlCharacter), ("s://a?b=%00", 8, .controlCharacter),
            ("s://a/%c0%af", 6, .invalidUTF8), ("s://a/%ed%a0%80", 9, .invalidUTF8),
            ("s://a/%e4%b8", 12, .invalidUTF8),
            ("s://a/%e4/%b8%ad", 9, .invalidUTF8), ("s://a/%f5", 6, .invalidUTF8),
            ("s://a?b=%ff", 8, .invalidUTF8),
            ("s://a?b=%e4&c=%b8%ad", 11, .invalidUTF8), ("  s://a/..", 8, .dotComponent),
        ] as [(String, Int, RouteURLError.Reason)])
    func `what is no URL is refused with the offset`(text: String, offset: Int, reason: RouteURLError.Reason)
    {
        #expect(throws: RouteURLError(url: text, offset: offset, reason: reason)) { try RouteURL(text) }
        var table = RouteTable()
        #expect(throws: Never.self) { try table.add(RoutePattern("**"), index: 0) }
        #expect(throws: RouteURLError(url: text, offset: offset, reason: reason)) {
            try table.firstMatch(url: Array(text.utf8).span)
        }
    }

    @Test func `bytes that are not UTF-8 are refused with the offset`() {
        let bytes: [UInt8] = Array("s://a/".utf8) + [0xff]
        let error = #expect(throws: RouteURLError.self) { try RouteTable().firstMatch(url: bytes.span) }
        #expect(error?.reason == .invalidUTF8)
        #expect(error?.offset == 6)
    }

    @Test func `of a repeated key the last value wins and all are kept`() throws {
        let query = try RouteURL("s://a?x=1&y&=z&x=2+3&%78=%34&n=a%0Ab&e=&u=s://b?c=d").query
        #expect(query["x"] == "4")
        #expect(query.allValues(of: "x") == ["1", "2+3", "4"])
        #expect(query["y"] == nil)
        #expect(query["n"] == "a\nb")
        #expect(query["e"] == "")
        #expect(query["u"] == "s://b?c=d")
        #expect(query.pairs.map(\.key) == ["x", "x", "x", "n", "e", "u"])
    }

    @Test func `raw and encoded spelling are one URL`() throws {
        let raw = try RouteURL("app://详情/中?名=值")
        let encoded = try RouteURL("APP://%E8%AF%A6%E6%83%85//%E4%B8%AD/?%E5%90%8D=%E5%80%BC")
        #expect(raw == encoded)
        #expect(raw.hashValue == encoded.hashValue)
        #expect(try RouteURL("app://a") != RouteURL("app://A"))
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `printing and parsing are inverse`(seed: UInt64) throws {
        var random = Seeded(seed)
        let characters = Array("abz09-._~:/?#[]@!$&'()*+,;=% \"<>中é😀\\^`{|}").map(String.init)
        func text(_ length: ClosedRange<Int>) -> String {
            (0..<Int.random(in: length, using: &random)).map { _ in random.pick(characters) }.joined()
        }
        for _ in 0..<1000 {
            let components = (0..<Int.random(in: 0...5, using: &random)).map { _ in text(1...20) }
                .filter { $0 != "." && $0 != ".." }
            let query = (0..<Int.random(in: 0...3, using: &random)).map { _ in (text(1...5), text(0...9)) }
            let fragment = random.chance(1, in: 2) ? text(0...9) : nil
            let scheme = random.pick(["", "s", "some-app", "a.scheme+longer-than-sixteen"])
            let url = try RouteURL(scheme: scheme, components: components, query: query, fragment: fragment)
            #expect(url.scheme == scheme, "seed \(seed)")
            #expect(url.components == components, "seed \(seed), \(url)")
            #expect(
                url.query.pairs == query.map { RouteURL.Query.Pair(key: $0.0, value: $0.1) },
                "seed \(seed), \(url)")
            #expect(url.fragment == fragment, "seed \(seed), \(url)")
            let again = try RouteURL(url.description)
            #expect(again == url)
            #expect(again.text == url.text)
        }
    }

    // What was found by libFuzzer.
    @Test func `a key is compared by its bytes, encoded or not`() throws {
        let query = try RouteURL("s://h?e%CC%81=1&\u{E9}=2").query
        #expect(query.allValues(of: "\u{E9}") == ["2"])
        #expect(query.allValues(of: "e\u{301}") == ["1"])
    }

    @Test func `two megabytes are read like two bytes`() throws {
        let long = String(repeating: "a/", count: 1 << 20)
        let url = try RouteURL("s://" + long + "?" + long + "#" + long)
        #expect(url.components.count == 1 << 20)
        var table = RouteTable()
        try table.add(RoutePattern("a/a/**"), index: 0)
        try table.add(RoutePattern("a/:x/a/b"), index: 1)
        #expect(table.match(url).map(\.index) == [0])
        let encoded = try RouteURL(String(repeating: "%61/", count: 1 << 19))
        #expect(table.firstMatch(encoded)?.index == 0)
        #expect(throws: RouteURLError.self) { try RouteURL(long + "%zz/%00") }
    }
}
