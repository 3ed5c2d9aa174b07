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
    /// - Throws: `EncodingError` for a decimal with more digits than a number in JSON keeps.
    static func encode<Value>(_ value: Value, path: JSONPath) throws -> JSONValue? {
        switch value {
        case let url as URL where Value.self == URL.self: .string(url.absoluteString)
        case let data as Data where Value.self == Data.self: .string(data.base64EncodedString())
        case let date as Date where Value.self == Date.self: .string(text(of: date))
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
            if let decimal = Decimal(string: text) { return decimal }
        default: break
        }
        throw tree.mismatch("a number", Decimal.self)
    }

    // MARK: Date

    private static func text(of date: Date) -> String {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
        let isWhole = milliseconds.truncatingRemainder(dividingBy: 1_000) == 0
        return Date(timeIntervalSince1970: milliseconds / 1_000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: !isWhole))
    }

    private static func date(_ text: String) -> Date? {
        guard let date = try? Date(text, strategy: .iso8601) else { return nil }
        // The day is one that exists: a 30 February would be read as a day of March.
        let day = text.prefix(10)
        let midnight = try? Date("\(day)T00:00:00Z", strategy: .iso8601)
        return midnight.map { self.text(of: $0).hasPrefix(day) } == true ? date : nil
    }
}
