#if Macros
import SwiftSyntax

/// What a placeholder gives, or a property reads, as far as the source shows it.
///
/// Behind a type alias or a custom converter there may be anything: then there is none, and `ValueSchema.mayGive`
/// decides when the route is registered. What is refused here is refused there too.
enum SpelledValue: Equatable {
    case text
    /// One of these texts.
    case choice([String])
    case uuid
    case boolean
    case integer(ClosedRange<Int64>)
    case number
    case list
    case object

    /// What the placeholders of a segment give, from left to right; nil for that of a custom converter.
    static func given(by segment: RoutePattern.Segment, custom: Set<String>) -> [(name: String, Self?)] {
        func value(_ converter: String?) -> Self? {
            guard let converter else { return .text }
            return custom.contains(converter) ? nil : SpelledValue(converter: converter)
        }
        return switch segment {
        case .literal, .wildcard: []
        case .placeholder(let name), .rest(let name): [(name, .text)]
        case .typed(let name, let converter): [(name, value(converter))]
        case .partial(_, let name, _, let converter): [(name, value(converter))]
        case .several(_, let parts): parts.map { ($0.name, value($0.converter)) }
        }
    }

    private init?(converter: String) {
        switch PatternConstraint(converter) {
        case .int(let range): self = .integer(range)
        case .oneOf(let texts): self = .choice(texts)
        case nil:
            switch converter {
            case "int": self = .integer(.min ... .max)
            case "double": self = .number
            case "bool": self = .boolean
            case "uuid": self = .uuid
            default: return nil
            }
        }
    }

    /// What a type reads; nil when its name does not say.
    init?(_ type: TypeSyntax) {
        if let optional = type.as(OptionalTypeSyntax.self) {
            self.init(optional.wrappedType)
        } else if let optional = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
            self.init(optional.wrappedType)
        } else if let tuple = type.as(TupleTypeSyntax.self), tuple.elements.count == 1,
            let only = tuple.elements.first
        {
            self.init(only.type)
        } else if type.is(ArrayTypeSyntax.self) {
            self = .list
        } else if let dictionary = type.as(DictionaryTypeSyntax.self) {
            self.init(named: "Dictionary", [dictionary.key])
        } else if let name = type.as(IdentifierTypeSyntax.self) {
            self.init(named: name.name.text, Self.types(name.genericArgumentClause))
        } else if let member = type.as(MemberTypeSyntax.self),
            ["Swift", "Foundation", "FoundationEssentials"].contains(member.baseType.trimmedDescription)
        {
            self.init(named: member.name.text, Self.types(member.genericArgumentClause))
        } else {
            return nil
        }
    }

    private static func types(_ clause: GenericArgumentClauseSyntax?) -> [TypeSyntax] {
        clause?.arguments.compactMap { $0.argument.as(TypeSyntax.self) } ?? []
    }

    private init?(named name: String, _ arguments: [TypeSyntax]) {
        switch name {
        case "Optional":
            guard let wrapped = arguments.first else { return nil }
            self.init(wrapped)
        case "Dictionary":
            // Others are written as arrays of keys and values.
            guard let key = arguments.first, SpelledValue(key) == .text else { return nil }
            self = .object
        case "Array", "Set": self = .list
        case "String": self = .text
        case "UUID": self = .uuid
        case "Bool": self = .boolean
        case "Double", "Float": self = .number
        case "Int", "Int64": self = .integer(.min ... .max)
        case "Int8": self = .integer(-128...127)
        case "Int16": self = .integer(-32_768...32_767)
        case "Int32": self = .integer(-2_147_483_648...2_147_483_647)
        case "UInt", "UInt64": self = .integer(0 ... .max)
        case "UInt8": self = .integer(0...255)
        case "UInt16": self = .integer(0...65_535)
        case "UInt32": self = .integer(0...4_294_967_295)
        default: return nil
        }
    }

    /// Whether what a placeholder gives may be read as this.
    func mayGive(_ wanted: SpelledValue) -> Bool {
        switch (self, wanted) {
        case (_, .list), (_, .object): false
        case (.text, _), (_, .text): true
        case (.choice(let texts), .integer(let range)):
            texts.contains { Int64($0).map(range.contains) ?? false }
        case (.choice(let texts), .number): texts.contains { Double($0)?.isFinite == true }
        case (.choice, _): true
        case (.integer(let given), .integer(let range)): given.overlaps(range)
        case (.integer, .number), (.number, .number), (.boolean, .boolean), (.uuid, .uuid): true
        default: false
        }
    }

    /// What a placeholder gives, for people.
    var text: String {
        switch self {
        case .text: "a text"
        case .choice(let texts): texts.joined(separator: " or ")
        case .uuid: "a UUID"
        case .boolean: "a truth value"
        case .integer(let range): range == .min ... .max ? "an integer" : "an integer \(Self.text(of: range))"
        case .number: "a number"
        case .list, .object: "no list and no object"
        }
    }

    private static func text(of range: ClosedRange<Int64>) -> String {
        let lower = range.lowerBound == .min ? "" : "\(range.lowerBound)"
        return "\(lower)..\(range.upperBound == .max ? "" : "\(range.upperBound)")"
    }

    /// The types that read what a placeholder gives, for people.
    var types: String {
        switch self {
        case .text, .choice, .list, .object: "String"
        case .uuid: "UUID or String"
        case .boolean: "Bool or String"
        case .integer: "Int or String"
        case .number: "Double or String"
        }
    }
}
#endif
