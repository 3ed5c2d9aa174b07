/// A route as a type: its properties are its parameters, so that no key and no text is written by hand.
///
///     struct OrderRoute: TypedRoute {
///         static let key: RouteKey = "myapp://orders/:id"
///         var id: Int
///         var tab: Tab?
///     }
///
///     try router.register(OrderRoute.self) { order, request in .opened(.int(order.id)) }
///     let opening = await router.open(OrderRoute(id: 4, tab: .items))
///     let url = try OrderRoute(id: 4).url    // myapp://orders/4
///
/// A property with the name of a placeholder stands in the path, the others in the query.
///
/// With an ``Answer`` its opens give a value, as the call of a method does:
///
///     struct TotalRoute: TypedRoute {
///         typealias Answer = Int
///         static let key: RouteKey = "myapp://orders/:id/total"
///         var id: Int
///     }
///
///     try router.register(TotalRoute.self) { total, request in orders[total.id]?.total }
///     let total = try await router.open(TotalRoute(id: 4))
public protocol TypedRoute: Codable, Sendable {
    /// What an open of it gives, as contracts have it; what it gives is not known in advance unless declared.
    associatedtype Answer: Sendable = Void
    /// The URLs that it takes.
    static var key: RouteKey { get }
}

extension Route {
    /// A route whose handler gets its parameters as a value.
    ///
    /// An open with parameters that are no such value ends in 422. The arguments are those of
    /// ``init(_:name:priority:kind:takesDeeper:idempotent:jumpType:metadata:defaults:parameters:redirect:handler:)``;
    /// the parameters are the properties.
    public init<Typed: TypedRoute>(
        _ type: Typed.Type, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], redirect: Redirect? = nil,
        @_inheritActorContext handler:
            nonisolated(nonsending) @escaping @Sendable (Typed, RouteRequest) async throws -> RouteAnswer
    ) where Typed.Answer == Void {
        self.init(
            typed: type, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect,
            work: .waiting { try await handler(try $0.parameters.decode(type), $0) })
    }

    /// The same for a handler without `await`.
    public init<Typed: TypedRoute>(
        _ type: Typed.Type, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], redirect: Redirect? = nil,
        @_inheritActorContext handler:
            @escaping @isolated(any) @Sendable (Typed, RouteRequest) throws -> RouteAnswer
    ) where Typed.Answer == Void {
        self.init(
            typed: type, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect,
            work: HandlerBody(handler) { try $0.parameters.decode(type) })
    }

    /// A route whose handler gets its parameters as a value, and gives its answer as one; nil declines, and the next
    /// route that takes the URL is tried.
    public init<Typed: TypedRoute>(
        _ type: Typed.Type, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], redirect: Redirect? = nil,
        @_inheritActorContext handler:
            nonisolated(nonsending) @escaping @Sendable (Typed, RouteRequest) async throws -> Typed.Answer?
    ) where Typed.Answer: Codable {
        self.init(
            typed: type, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect,
            work: .waiting { try RouteAnswer(await handler(try $0.parameters.decode(type), $0)) })
        answer = MethodDescription.Value(of: Typed.Answer.self)
    }

    /// The same for a handler without `await`.
    public init<Typed: TypedRoute>(
        _ type: Typed.Type, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], redirect: Redirect? = nil,
        @_inheritActorContext handler:
            @escaping @isolated(any) @Sendable (Typed, RouteRequest) throws -> Typed.Answer?
    ) where Typed.Answer: Codable {
        self.init(
            typed: type, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect,
            work: HandlerBody(handler) { try $0.parameters.decode(type) }.map { try RouteAnswer($0) })
        answer = MethodDescription.Value(of: Typed.Answer.self)
    }

    private init<Typed: TypedRoute>(
        typed type: Typed.Type, name: String?, priority: Int, kind: RouteKind, takesDeeper: Bool,
        idempotent: Bool, jumpType: JumpType?, metadata: [String: JSONValue],
        defaults: [String: JSONValue], parameters: [RouteParameter], redirect: Redirect?,
        work: HandlerBody<RouteRequest, RouteAnswer>
    ) {
        self.init(
            Typed.key, name: name ?? Self.className(of: type), priority: priority, kind: kind,
            takesDeeper: takesDeeper, idempotent: idempotent, jumpType: jumpType, metadata: metadata,
            defaults: defaults, parameters: parameters + RouteParameter.properties(of: type),
            redirect: redirect, work: work)
        properties = TypedProperties(of: type, key: Typed.key)
    }
}

extension RouteAnswer {
    /// The value, as it is for callers in this process and as JSON for all; one that is absent declines.
    fileprivate init<Answer: Encodable & Sendable>(_ answer: Answer?) throws {
        self = try answer.map { .opened(try JSONValue(encoding: $0), object: $0) } ?? .pass
    }
}

/// What a type reads of the parameters of an open, to be held against a pattern.
struct TypedProperties: Sendable {
    /// The type, for messages.
    let type: String
    let properties: [RouteParameter]
    /// The pattern by which the type is also written into URLs: each placeholder needs a property, and these URLs must
    /// lead to the route.
    let key: RouteKey?

    init<T: Decodable>(of type: T.Type, key: RouteKey? = nil) {
        self.type = "\(type)"
        properties = RouteParameter.properties(of: type)
        self.key = key
    }

    /// Why no URL of a pattern with these placeholders gives a value of the type; nil when one does.
    func problem(with placeholders: [RouteParameter]) -> String? {
        for placeholder in placeholders {
            guard let property = properties.first(where: { $0.name == placeholder.name }) else {
                guard key != nil else { continue }
                return "\(type) has no property \(placeholder.name) for its placeholder"
            }
            guard placeholder.schema.mayGive(property.schema) else {
                return "\(type).\(property.name) is \(property.schema.text), but its placeholder gives "
                    + placeholder.schema.text
            }
        }
        return nil
    }

    /// Properties that a value needs and that stand beside the path, while the path has placeholders that none reads:
    /// most likely one of them is meant.
    func unread(_ placeholders: [RouteParameter], _ defaults: [String: JSONValue]) -> (
        needed: [String], placeholders: [String]
    )? {
        let names = Set(properties.map(\.name))
        let unread = placeholders.map(\.name).filter { !names.contains($0) }
        let inPath = Set(placeholders.map(\.name))
        let needed = properties.filter {
            $0.isRequired && !inPath.contains($0.name) && defaults[$0.name] == nil
        }
        return unread.isEmpty || needed.isEmpty ? nil : (needed.map(\.name), unread)
    }
}

extension ValueSchema {
    /// Whether a text that is one of these may be read as one of `wanted`.
    func mayGive(_ wanted: ValueSchema) -> Bool {
        // A custom converter gives what it likes.
        guard kind != nil || format == "uuid", let other = wanted.kind else { return true }
        if format == "uuid" {
            return other == .string && [nil, "uuid"].contains(wanted.format) && wanted.values.isEmpty
        }
        switch (kind, other) {
        case (_, .array), (_, .object): return false
        case (.string, .string):
            return values.isEmpty || wanted.values.isEmpty || !Set(values).isDisjoint(with: wanted.values)
        case (.string, _):
            return values.isEmpty
                || values.contains { wanted.problem(with: .string($0), readsText: true) == nil }
        case (.integer, .integer):
            return minimum ?? .min <= wanted.maximum ?? .max && wanted.minimum ?? .min <= maximum ?? .max
        case (.integer, .number), (.number, .number), (.boolean, .boolean): return true
        case (_, .string):
            return wanted.values.isEmpty
                ? wanted.format == nil
                : wanted.values.contains { problem(with: .string($0), readsText: true) == nil }
        default: return false
        }
    }
}
