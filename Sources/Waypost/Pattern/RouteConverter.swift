/// The value of a placeholder.
public enum CapturedValue: Sendable, Hashable {
    /// The decoded text.
    case text(String)
    /// The number of `<int:…>`.
    case int(Int64)
    /// The number of `<double:…>`; always finite.
    case double(Double)
    /// The truth value of `<bool:…>`.
    case bool(Bool)
}

/// A placeholder, and what it took of a URL.
package struct CapturedParameter: Sendable, Hashable {
    /// The placeholder's name; `**` for a rest without one.
    package var name: String
    /// The decoded text.
    package var text: String
    /// The name of the placeholder's converter.
    package var converter: String?
    /// The text, or what the converter made of it.
    package var value: CapturedValue

    /// A parameter by its parts.
    init(name: String, text: String, converter: String? = nil, value: CapturedValue? = nil) {
        self.name = name
        self.text = text
        self.converter = converter
        self.value = value ?? .text(text)
    }
}

/// Decides whether a component fits a typed placeholder, and what value it gives.
///
///     let year = RouteConverter { text in
///         text.count == 4 ? Int64(text).map { .int($0) } : nil
///     }
///     let table = RouteTable(converters: ["year": year])   // for `/archive/<year:y>`
///
/// It runs while the table is searched, so it must be quick and have no side effects.
public struct RouteConverter: Sendable {
    /// The value of a decoded component, or nil when it does not fit and the next candidate must be tried.
    var convert: @Sendable (String) -> CapturedValue?

    /// A converter from a closure.
    public init(_ convert: @escaping @Sendable (String) -> CapturedValue?) {
        self.convert = convert
    }

    // In the order in which they are tried: what accepts less comes first.
    static let builtIn = ["uuid", "int", "double", "bool"]
}

/// The built-in conversions, on decoded bytes and without allocation.
enum BuiltInConversion {
    /// Whether `bytes` fit the built-in converter of this number (see ``RouteConverter/builtIn``).
    static func accepts(_ bytes: UnsafeBufferPointer<UInt8>, converter: Int) -> Bool {
        switch converter {
        case 0: isUUID(bytes)
        case 1: int(bytes) != nil
        case 2: double(bytes) != nil
        case 3: bool(bytes) != nil
        default: false
        }
    }

    /// What they give.
    static func value(_ bytes: UnsafeBufferPointer<UInt8>, converter: Int) -> CapturedValue? {
        switch converter {
        case 0: isUUID(bytes) ? .text(String(decoding: bytes, as: UTF8.self)) : nil
        case 1: int(bytes).map { .int($0) }
        case 2: double(bytes).map { .double($0) }
        case 3: bool(bytes).map { .bool($0) }
        default: nil
        }
    }

    /// 8-4-4-4-12 hex digits, in either case; the text stays as it was written.
    static func isUUID(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard bytes.count == 36 else { return false }
        for index in 0..<36 {
            if index == 8 || index == 13 || index == 18 || index == 23 {
                if bytes[index] != UInt8(ascii: "-") { return false }
            } else if PercentCoding.value(ofDigit: bytes[index]) == nil {
                return false
            }
        }
        return true
    }

    /// An optional sign and decimal digits that fit 64 bits.
    static func int(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        var index = 0
        var isNegative = false
        if let sign = bytes.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            isNegative = sign == UInt8(ascii: "-")
            index = 1
        }
        guard index < bytes.count else { return nil }
        var value: Int64 = 0
        while index < bytes.count {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let step = isNegative ? -Int64(digit) : Int64(digit)
            let (sum, carry) = product.addingReportingOverflow(step)
            if overflow || carry { return nil }
            value = sum
            index &+= 1
        }
        return value
    }

    private static let marks = Array("+-.eE".utf8)

    /// Decimal digits with an optional sign, fraction and exponent: no `inf`, `nan` or hexadecimal.
    static func double(_ bytes: UnsafeBufferPointer<UInt8>) -> Double? {
        guard bytes.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 || marks.contains($0) }),
            let value = Double(String(decoding: bytes, as: UTF8.self)), value.isFinite
        else { return nil }
        return value
    }

    /// `true` or `false`, in any case.
    static func bool(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool? {
        func equals(_ word: StaticString) -> Bool {
            guard bytes.count == word.utf8CodeUnitCount else { return false }
            for index in 0..<bytes.count where bytes[index] | 0x20 != word.utf8Start[index] { return false }
            return true
        }
        if equals("true") { return true }
        return equals("false") ? false : nil
    }
}
