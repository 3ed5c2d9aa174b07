import Foundation
import TestSupport
import Testing

@testable import Waypost

/// URL, Data, Date and Decimal have the forms in JSON that other programs write.
@Suite(.patient) struct `Foundation's types as JSON` {
    struct Order: Codable, Sendable, Equatable {
        var link: URL
        var picture: Data?
        var placed: Date
        var price: Decimal
        var links: [URL] = []
        var byDay: [String: Date] = [:]
    }

    private func order() throws -> Order {
        Order(
            link: try #require(URL(string: "kiosk://orders/4?tab=a%20b#end")), picture: Data([1, 2, 3]),
            placed: Date(timeIntervalSince1970: 1_795_687_200), price: try #require(Decimal(string: "12.34")),
            links: [try #require(URL(string: "https://x.example/z"))],
            byDay: ["mon": Date(timeIntervalSince1970: 0.25)])
    }

    @Test func `a value with them is written as others write it, and read again`() throws {
        let json = try JSONValue(encoding: order())
        #expect(
            json == [
                "link": "kiosk://orders/4?tab=a%20b#end", "picture": "AQID", "placed": "2026-11-26T10:00:00Z",
                "price": 12.34, "links": ["https://x.example/z"],
                "byDay": ["mon": "1970-01-01T00:00:00.250Z"],
            ])
        #expect(try json.decode(Order.self) == order())
        let foundation = JSONDecoder()
        foundation.dateDecodingStrategy = .iso8601
        let plain: JSONValue = [
            "link": "a://b", "placed": "2026-11-26T10:00:00Z", "price": 0.1, "links": [], "byDay": [:],
        ]
        #expect(
            try foundation.decode(Order.self, from: Data(plain.text.utf8)) == plain.decode(Order.self))
    }

    @Test(arguments: [
        ("0", "0"), ("-7", "-7"), ("0.1", "0.1"), ("12.340", "12.34"),
        ("9007199254740993", "9007199254740993"),
        ("0.30000000000000004", "0.30000000000000004"),
    ])
    func `a decimal is a number with all its digits`(text: String, written: String) throws {
        let decimal = try #require(Decimal(string: text))
        let json = try JSONValue(encoding: [decimal])
        #expect(json.text == "[\(written)]")
        #expect(try json.decode([Decimal].self) == [decimal])
    }

    @Test func `a decimal that no number can hold is refused, with its place`() throws {
        let long = try #require(Decimal(string: "1.2345678901234567890123"))
        let error = try #require(throws: EncodingError.self) { try JSONValue(encoding: ["price": long]) }
        #expect(error.reason.hasPrefix("price: the decimal has more digits"))
        #expect(throws: EncodingError.self) { try JSONValue(encoding: Decimal.nan) }
    }

    @Test(arguments: [
        ("2026-11-26T12:00:00+02:00", 1_795_687_200), ("2026-11-26T10:00:00.5Z", 1_795_687_200.5),
        ("2024-02-29T00:00:00Z", 1_709_164_800), ("2024-02-28T22:30:00-0130", 1_709_164_800),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799.999), ("1969-12-31T23:59:59.5Z", -0.5),
    ])
    func `a date is read with its zone and fraction`(text: String, seconds: Double) throws {
        #expect(try JSONValue(text).decode(Date.self).timeIntervalSince1970 == seconds)
    }

    @Test(arguments: [
        (JSONValue("2026-02-30T10:00:00Z"), "a time"), ("2026-11-26T10:00:00", "a time"), (4, "a time"),
        ("", "a time"), ("2026-11-26T25:00:00Z", "a time"), ("2026-11-26T24:00:00Z", "a time"),
        ("2026-11-26T10:00:00Z and more", "a time"), ("2026-11-26T10:00:00+2:000", "a time"),
        ("2026-11-26T10:61:00Z", "a time"), ("2026-1-1T00:00:00Z", "a time"),
        ("0000-01-01T00:00:00Z", "a time"),
    ])
    func `what is no time is refused, and the reason says what one looks like`(
        json: JSONValue, wanted: String
    ) throws {
        let error = try #require(throws: DecodingError.self) { try json.decode(Date.self) }
        #expect(error.reason.contains("should be \(wanted) (ISO 8601, such as 2026-01-31T23:59:59Z)"))
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, 253_402_300_800, -62_135_596_801])
    func `a date that ISO 8601 has no text for is refused`(seconds: Double) throws {
        let date = Date(timeIntervalSince1970: seconds)
        let error = try #require(throws: EncodingError.self) { try JSONValue(encoding: ["at": date]) }
        #expect(error.reason == "at: the date is not in the years 1 to 9999")
    }

    @Test func `each millisecond is written as it is`() throws {
        for number in 0..<1_000 {
            let date = Date(timeIntervalSince1970: 1_795_687_200 + Double(number) / 1_000)
            let fraction = number == 0 ? "" : "." + String(String(1_000 + number).dropFirst())
            #expect(try JSONValue(encoding: date) == .string("2026-11-26T10:00:00\(fraction)Z"))
        }
    }

    @Test(arguments: [-62_135_596_800, -0.25, 253_402_300_799.999])
    func `every other date is read as it was written`(seconds: Double) throws {
        let json = try JSONValue(encoding: Date(timeIntervalSince1970: seconds))
        let read = try json.decode(Date.self)
        #expect(abs(read.timeIntervalSince1970 - seconds) < 0.000_1)
        #expect(try JSONValue(encoding: read) == json)
    }

    @Test func `other values of the wrong kind are refused by name`() throws {
        for (json, type, reason) in [
            ("", URL.self as any Decodable.Type, "should be a URL but is a string"),
            (3, URL.self, "should be a URL but is an integer"),
            ("?", Data.self, "should be a base64 text but is a string"),
            ([1, 2], Data.self, "should be a base64 text but is an array"),
            ("1", Decimal.self, "should be a number but is a string"),
        ] as [(JSONValue, any Decodable.Type, String)] {
            let error = try #require(throws: DecodingError.self) { try json.decode(type) }
            #expect(error.reason == reason)
        }
    }

    @Test func `a method takes and gives them`() async throws {
        let services = ServiceRegistry()
        try services.expose(
            ExposedService("Shop", make: { 0 }) {
                Exposed("go(to:)") { (_: Int, to: URL) in to.host() }
                Exposed("price(of:at:)") { (_: Int, of: Decimal, at: Date?) in of * 2 }
            })
        let host = await ending {
            try await services.call("Shop", "go", arguments: .labeled(["to": "https://x.example/z"]))
        }
        #expect(host == .success("x.example"))
        #expect(try await services.call("Shop", "price", arguments: .positional([0.1])) == 0.2)
        let wrong = await ending { try await services.call("Shop", "go", arguments: .positional([4])) }
        #expect(throws: Failure.self) { try wrong.get() }
    }

    @Test func `a URL's query gives them to a route`() async throws {
        struct Page: Decodable {
            var link: URL?
            var price: Decimal
            var after: Date
        }
        let router = Router()
        try router.register("a://page") { request in
            let page = try request.parameters.decode(Page.self)
            return .opened([JSONValue(page.link?.path() ?? ""), try JSONValue(encoding: page.price)])
        }
        let url = "a://page?link=https%3A%2F%2Fx.example%2Fz&price=12.34&after=2026-11-26T10:00:00Z"
        #expect(await router.open(url).value == ["/z", 12.34])
        #expect(await router.open("a://page?price=12x&after=2026-11-26T10:00:00Z").code == .badField)
    }

    @Test func `a schema says what they are`() {
        #expect(ValueSchema(of: URL?.self) == ValueSchema(.string, format: "uri"))
        #expect(ValueSchema(of: Data.self) == ValueSchema(.string, format: "byte"))
        #expect(ValueSchema(of: Date.self) == ValueSchema(.string, format: "date-time"))
        #expect(ValueSchema(of: Decimal.self) == ValueSchema(.number))
    }
}
