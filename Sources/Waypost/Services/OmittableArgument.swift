/// An argument that a caller may leave out: what `@Exposed` makes of a parameter with a default value.
///
/// By hand, take an optional: `{ (shop: Shop, count: Int?) in shop.order(count ?? 1) }`.
public enum OmittableArgument<Value: Decodable & Sendable>: Decodable, Sendable {
    /// What the caller gave; nil for a null where the type has a nil.
    case given(Value)
    /// Nothing, or a null where the type has no nil.
    case omitted

    /// Reads a value.
    ///
    /// - Throws: What the value's type throws when it does not fit.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if !ValueSchema.isOptional(Value.self), container.decodeNil() {
            self = .omitted
        } else {
            self = .given(try container.decode(Value.self))
        }
    }

    /// What the caller gave, or the default.
    nonisolated(nonsending) public func value(
        or makeDefault: nonisolated(nonsending) () async -> Value
    ) async -> Value {
        switch self {
        case .given(let value): value
        case .omitted: await makeDefault()
        }
    }
}

/// What may be absent, by its type.
protocol AbsentValue {
    static var absent: Self { get }
}

extension Optional: AbsentValue {
    static var absent: Self { nil }
}

extension OmittableArgument: AbsentValue, WrappingType {
    static var absent: Self { .omitted }
    static var wrapped: Any.Type { Value.self }
}
