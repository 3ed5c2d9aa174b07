/// The converters of a table by number: the built-in ones first, in the order of ``RouteConverter/builtIn``.
///
/// A pattern may name a constraint, or a converter the table was not given; both get a number, and the latter never
/// converts.
final class ConverterList: Sendable {
    let names: [String]
    private let converters: [RouteConverter?]

    convenience init(_ given: [String: RouteConverter]) {
        let names = RouteConverter.builtIn
        let others = given.keys.filter { !names.contains($0) }.sorted()
        self.init(names: names + others, converters: (names + others).map { given[$0] })
    }

    private init(names: [String], converters: [RouteConverter?]) {
        (self.names, self.converters) = (names, converters)
    }

    /// - Parameter name: As ``canonical(_:)`` gives it.
    func adding(_ name: String) -> ConverterList {
        ConverterList(
            names: names + [name], converters: converters + [PatternConstraint(name)?.converter])
    }

    func number(of name: String) -> Int? { names.firstIndex(of: name) }

    /// The name by which a converter is known: constraints that take the same have one.
    func canonical(_ name: String) -> String {
        guard name.utf8.last == UInt8(ascii: ")"), number(of: name) == nil else { return name }
        return PatternConstraint(name)?.name ?? name
    }

    func accepts(_ bytes: UnsafeBufferPointer<UInt8>, converter: Int) -> Bool {
        guard let own = converters[converter] else {
            return BuiltInConversion.accepts(bytes, converter: converter)
        }
        return own.convert(String(decoding: bytes, as: UTF8.self)) != nil
    }

    func value(_ text: String, converter: Int) -> CapturedValue? {
        if let own = converters[converter] { return own.convert(text) }
        return text.utf8Span.span.withUnsafeBufferPointer {
            BuiltInConversion.value($0, converter: converter)
        }
    }

    /// Whether `one` comes before `other` among typed placeholders: custom ones by name, then the built-in ones.
    func precedes(_ one: Int, _ other: Int) -> Bool {
        let builtIn = RouteConverter.builtIn.count
        if one < builtIn || other < builtIn { return one >= builtIn || (other < builtIn && one < other) }
        return names[one] < names[other]
    }
}
