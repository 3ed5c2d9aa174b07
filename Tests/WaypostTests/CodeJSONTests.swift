import Testing

@testable import Waypost

@Suite struct `Code JSON` {
    struct Address: Codable, Equatable {
        var city: String
        var lines: [String]?
    }

    struct Person: Codable, Equatable {
        var name: String
        var age: UInt8
        var score: Double
        var active: Bool
        var addresses: [Address]
        var extra: JSONValue
        var tags: [String: Int]
        var missing: Int?
    }

    class Base: Codable { var a = 1 }

    final class Derived: Base {
        var b = 2
        enum Keys: CodingKey { case b }
        override init() { super.init() }
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            b = try container.decode(Int.self, forKey: .b)
            try super.init(from: container.superDecoder())
        }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(b, forKey: .b)
            try super.encode(to: container.superEncoder())
        }
    }

    enum Shape: Codable, Equatable {
        case circle(radius: Double)
        case point
    }

    let json: JSONValue = [
        "name": "Ann", "age": 7, "score": 1, "active": true,
        "addresses": [["city": "Bonn", "lines": ["a", "b"]], ["city": "Köln", "lines": .null]],
        "extra": ["x": [1, .null]], "tags": ["k": 3],
    ]

    @Test func `a struct comes out of JSON and goes back`() throws {
        let person = try json.decode(Person.self)
        #expect(person.addresses[1] == Address(city: "Köln", lines: nil))
        #expect(person.extra == ["x": [1, .null]])
        let back = try JSONValue(encoding: person)
        #expect(try back.decode(Person.self) == person)
    }

    @Test func `classes, enums and plain values go both ways`() throws {
        let encoded = try JSONValue(encoding: Derived())
        #expect(encoded == ["b": 2, "super": ["a": 1]])
        #expect(try encoded.decode(Derived.self).a == 1)
        for shape in [Shape.circle(radius: 2), .point] {
            #expect(try JSONValue(encoding: shape).decode(Shape.self) == shape)
        }
        #expect(try JSONValue(encoding: [1, 2]) == [1, 2])
        #expect(try JSONValue(encoding: Int?.none) == .null)
        #expect(try JSONValue.null.decode(Int?.self) == nil)
        #expect(try JSONValue(encoding: "x") == "x")
        #expect(try JSONValue(encoding: [String]()) == [])
    }

    static let mistakes: [(JSONValue, String, String)] = [
        (.object(["age": 300]), "age", "UInt8"), (.object(["age": "7"]), "age", "an integer"),
        (.object(["age": 7.5]), "age", "a number"), (.object(["age": .null]), "age", "null"),
        (
            .object(["addresses": .array([.object(["city": "x"]), .object(["city": 4])])]),
            "addresses[1].city",
            "a string but is an integer"
        ),
        (.object(["addresses": .object([:])]), "addresses", "an array"),
    ]

    @Test(arguments: mistakes)
    func `an error names the place and the types, and not the value`(
        change: JSONValue, place: String, part: String
    )
        throws
    {
        var members = json.objectValue ?? [:]
        members.merge(change.objectValue ?? [:]) { _, new in new }
        do {
            _ = try JSONValue.object(members).decode(Person.self)
            Issue.record("decoded")
        } catch let error as DecodingError {
            #expect(error.place == place)
            #expect(error.reason.contains(part))
            #expect(!error.reason.contains("7") && !error.reason.contains("300"))
        }
    }

    @Test func `an error of another decoder is not quoted, because it names the value`() {
        enum Color: String, Decodable { case red }
        struct Even: Decodable {
            struct Odd: Error { let value: Int }
            init(from decoder: any Decoder) throws {
                throw Odd(value: try decoder.singleValueContainer().decode(Int.self))
            }
        }
        let parameters = RouteParameters(query: ["color": "hunter2", "number": "1234567"])
        let color = #expect(throws: ParameterError.self) { try parameters.value("color", as: Color.self) }
        #expect(color?.description.contains("hunter2") == false)
        let even = #expect(throws: ParameterError.self) { try parameters.value("number", as: Even.self) }
        #expect(even?.description.contains("1234567") == false)
    }

    @Test func `a missing key is named`() throws {
        do {
            _ = try JSONValue.object(["name": "x"]).decode(Person.self)
            Issue.record("decoded")
        } catch let error as DecodingError {
            #expect(error.place == "age")
            #expect(error.reason == "is missing")
        }
    }

    @Test func `text stands for a number only where it is asked to`() throws {
        struct Page: Decodable, Equatable {
            var id: Int
            var ratio: Double
            var on: Bool
            var name: String
        }
        let query: JSONValue = ["id": "2", "ratio": "0.5", "on": "YES", "name": "AKyS"]
        let page = try JSONValueDecoder(readsText: true).decode(Page.self, from: query)
        #expect(page == Page(id: 2, ratio: 0.5, on: true, name: "AKyS"))
        #expect(throws: DecodingError.self) { try JSONValueDecoder().decode(Page.self, from: query) }
        #expect(throws: DecodingError.self) {
            try JSONValueDecoder(readsText: true).decode(Int.self, from: "99999999999999999999")
        }
    }

    @Test func `a number that JSON cannot hold is an error`() {
        for (value, reason) in [
            (["id": [UInt64(1), .max]], "id[1]: the integer does not fit in 64 bits; write it as a string"),
            (["x": Double.nan], "x: JSON has no number that is not finite"),
        ] as [(any Encodable, String)] {
            let error = #expect(throws: EncodingError.self) { try JSONValue(encoding: value) }
            #expect(error?.reason == reason)
        }
    }

    @Test func `an integer keeps all its digits`() {
        #expect(JSONValue(Int64.min) == .int(.min))
        #expect(JSONValue(UInt64(Int64.max)) == .int(.max))
        #expect(JSONValue(UInt64.max) == "18446744073709551615")
    }

    @Test func `plain values become JSON by themselves`() {
        let (name, share, flag) = ("x", 0.5, true)
        #expect(
            ["a": JSONValue(name), "b": JSONValue(share), "c": JSONValue(flag)] == [
                "a": "x", "b": 0.5, "c": true,
            ] as JSONValue)
    }
}
