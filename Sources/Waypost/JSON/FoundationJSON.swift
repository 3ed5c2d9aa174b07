#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The types of Foundation that have a form of their own in JSON, as other programs write them too.
///
/// A `URL` is its text, `Data` is base64, a `Date` is a time as ISO 8601 says it, in UTC and to the millisecond, and a
/// `Decimal` is a number. By themselves these types encode as their properties.
enum FoundationJSON {
    /// The JSON of a value of one of these types; nil for every other type.
    ///
    /// - Throws: `EncodingError` for a decimal with more digits than a number in JSON keeps, and for a date beyond the
    ///   years 1 to 9999.
    static func encode<Value>(_ value: Value, path: JSONPath) throws -> JSONValue? {
        switch value {
        case let url as URL where Value.self == URL.self: .string(url.absoluteString)
        case let data as Data where Value.self == Data.self: .string(data.base64EncodedString())
        case let date as Date where Value.self == Date.self: try json(of: date, path: path)
        case let number as Decimal where Value.self == Decimal.self: try json(of: number, path: path)
        default: nil
        }
    }

    /// Whether values of the type are written and read here.
    static func isHandled(_ type: Any.Type) -> Bool {
        type == URL.self || type == Data.self || type == Date.self || type == Decimal.self
    }

    /// What a text or a number stands for; the type is one of those that are handled here.
    static func decode(_ type: Any.Type, from tree: JSONTree) throws -> Any {
        if type == Decimal.self { return try decimal(tree) }
        guard case .string(let text) = tree.value else { throw tree.mismatch(wanted(type), type) }
        let value: Any? =
            switch type {
            case is URL.Type: URL(string: text)
            case is Data.Type: Data(base64Encoded: text)
            default: date(text)
            }
        guard let value else { throw tree.mismatch(wanted(type), type) }
        return value
    }

    /// How a type that is handled here looks, in the words of JSON Schema; nil for others.
    static func form(of type: Any.Type) -> (kind: String, format: String?)? {
        switch type {
        case is URL.Type: ("string", "uri")
        case is Data.Type: ("string", "byte")
        case is Date.Type: ("string", "date-time")
        case is Decimal.Type: ("number", nil)
        default: nil
        }
    }

    private static func wanted(_ type: Any.Type) -> String {
        switch type {
        case is URL.Type: "a URL"
        case is Data.Type: "a base64 text"
        default: "a time (ISO 8601, such as 2026-01-31T23:59:59Z)"
        }
    }

    // MARK: Decimal

    private static func json(of number: Decimal, path: JSONPath) throws -> JSONValue {
        let digits = number.description
        if let whole = Int64(digits) { return .int(whole) }
        if let double = Double(digits), double.isFinite, Decimal(string: "\(double)") == number {
            return .double(double)
        }
        throw EncodingError.invalidValue(
            number,
            .init(
                codingPath: path.keys,
                debugDescription: "the decimal has more digits than a number keeps; write it as a string"))
    }

    private static func decimal(_ tree: JSONTree) throws -> Decimal {
        switch tree.value {
        case .int(let number): return Decimal(number)
        // By its shortest digits: 0.1 is one tenth, and not the double beside it.
        case .double(let number): if let decimal = Decimal(string: "\(number)") { return decimal }
        case .string(let text) where tree.readsText && Double(text)?.isFinite == true:
            // More digits than a decimal has would be rounded.
            let digits = text.utf8.count { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
            if digits <= 38, let decimal = Decimal(string: text) { return decimal }
        default: break
        }
        throw tree.mismatch("a number", Decimal.self)
    }

    // MARK: Date

    /// The first moment of the year 1 and the last of the year 9999, which ISO 8601 writes with four digits.
    private static let times = -62_135_596_800_000.0...253_402_300_799_999

    private static func json(of date: Date, path: JSONPath) throws -> JSONValue {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
        guard times.contains(milliseconds) else {
            // Without the date: Foundation can not print one that is no number.
            throw EncodingError.invalidValue(
                "Date",
                .init(codingPath: path.keys, debugDescription: "the date is not in the years 1 to 9999"))
        }
        return .string(text(of: milliseconds))
    }

    private static func text(of milliseconds: Double) -> String {
        let seconds = (milliseconds / 1_000).rounded(.down)
        let text = Date(timeIntervalSince1970: seconds).formatted(Date.ISO8601FormatStyle())
        // The formatter would cut them off: of 0.123 s, which no double is exactly, 0.122 would be left.
        let rest = Int(milliseconds - seconds * 1_000)
        guard rest > 0 else { return text }
        return text.dropLast() + "." + String(String(1_000 + rest).dropFirst()) + "Z"
    }

    /// Foundation's reader takes 25:00, a 30 February and text behind the zone: what it found must be what is written.
    private static func date(_ text: String) -> Date? {
        guard let date = try? Date(text, strategy: .iso8601),
            let offset = offset(text.dropFirst(19).drop { $0 == "." || $0.isWholeNumber })
        else { return nil }
        let local = (date.timeIntervalSince1970 + offset).rounded(.down)
        guard times.contains(local * 1_000) else { return nil }
        return self.text(of: local * 1_000).prefix(19) == text.prefix(19) ? date : nil
    }

    /// The seconds of `Z`, `+02:00` or `+0200`; nil for anything else.
    private static func offset(_ zone: Substring) -> Double? {
        if zone == "Z" { return 0 }
        let digits = zone.dropFirst().filter { $0 != ":" }
        guard let sign = zone.first, sign == "+" || sign == "-", digits.utf8.count == 4,
            zone.utf8.count == 5 || zone.dropFirst(3).first == ":", let number = Int(digits)
        else { return nil }
        return Double((number / 100 * 60 + number % 100) * 60) * (sign == "-" ? -1 : 1)
    }
}
