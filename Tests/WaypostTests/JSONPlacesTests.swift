import Testing

@testable import Waypost

@Suite struct `Find places in JSON` {
    private let text = #"""
         { "a\"]": [1, "x,]", {"b": [ ]}, -2.5e3 ,null],
           "r\u006fot" :{"z":true}, "a": "}" }
        """#

    @Test func `elements and members begin where they are written`() throws {
        let places = JSONPlaces(Array(text.utf8))
        func rest(_ place: Int?) throws -> String {
            String(decoding: places.bytes[try #require(place)...].prefix(4), as: UTF8.self)
        }
        #expect(try rest(places.root) == #"{ "a"#)
        let list = try #require(places.member(#"a"]"#, of: places.root))
        #expect(try places.elements(of: list).map(rest) == ["1, \"", "\"x,]", "{\"b\"", "-2.5", "null"])
        #expect(
            places.elements(of: try #require(places.member("b", of: places.elements(of: list)[2]))).isEmpty)
        let object = try #require(places.member("root", of: places.root))
        #expect(try rest(places.member("z", of: object)) == "true")
        #expect(try rest(places.member("a", of: places.root)) == #""}" "#)
        #expect(places.member("none", of: places.root) == nil)
        #expect(places.elements(of: places.root).isEmpty && places.member("a", of: list) == nil)
    }

    @Test func `a text that is cut off anywhere ends the search`() {
        let bytes = Array(text.utf8)
        for end in 0...bytes.count {
            let places = JSONPlaces(Array(bytes[..<end]))
            let list = places.member(#"a"]"#, of: places.root)
            #expect(list.map(places.elements)?.count ?? 0 <= 5)
            _ = places.member("none", of: places.root)
        }
    }
}
