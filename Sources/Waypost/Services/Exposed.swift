/// One method of a service that may be called from outside.
///
/// The closure takes the service and then the arguments, in the order of the name's labels:
///
///     Exposed("add(a:b:)", idempotent: true) { (s: CalculatorService, a: Int, b: Int) in
///         try s.add(a: a, b: b)
///     }
///
/// Arguments are decoded and the result is encoded; the closure may be async and throw, and is cancelled at the
/// call's deadline. A closure that takes an ``OpenContext`` behind the service learns who calls.
public struct Exposed<Service: Sendable>: Sendable {
    let name: String
    let selector: String?
    let idempotent: Bool
    let arguments: [MethodDescription.Value]
    let result: MethodDescription.Value
    let work: HandlerBody<ExposedMethod.Call, JSONValue>

    /// A method with a result.
    ///
    /// - Parameters:
    ///   - name: The full Swift name: `add(a:b:)`.
    ///   - selector: The Objective-C selector when it is not the derived one (`addWithA:b:`).
    ///   - idempotent: Whether running it twice is the same as running it once; then a call that a crash
    ///     interrupted is run again.
    ///   - body: The method.
    public init<each Argument: Decodable & Sendable, Answer: Encodable & SendableMetatype>(
        _ name: String, selector: String? = nil, idempotent: Bool = false,
        @_inheritActorContext _ body:
            nonisolated(nonsending) @escaping @Sendable (Service, repeat each Argument) async throws -> Answer
    ) {
        let method = MethodName(name)
        self.init(name, selector, idempotent, Answer.self, repeat (each Argument).self) {
            .waiting { call in
                let service: Service = try call.service()
                let arguments: (repeat each Argument) = try Self.read(name, method, call.source)
                let answer = try await body(service, repeat each arguments)
                return try Self.encode(answer, of: name, as: call.result)
            }
        }
    }

    /// A method with a result whose closure has no `await`: it runs in place, or on the actor that it belongs to.
    public init<each Argument: Decodable & Sendable, Answer: Encodable & SendableMetatype>(
        _ name: String, selector: String? = nil, idempotent: Bool = false,
        @_inheritActorContext _ body:
            @escaping @isolated(any) @Sendable (Service, repeat each Argument) throws -> Answer
    ) {
        let method = MethodName(name)
        self.init(name, selector, idempotent, Answer.self, repeat (each Argument).self) {
            let inPlace = unisolated(body)
            return HandlerBody(on: body.isolation) { call in
                let service: Service = try call.service()
                let arguments: (repeat each Argument) = try Self.read(name, method, call.source)
                let answer = try inPlace(service, repeat each arguments)
                return try Self.encode(answer, of: name, as: call.result)
            }
        }
    }

    /// A method without a result.
    public init<each Argument: Decodable & Sendable>(
        _ name: String, selector: String? = nil, idempotent: Bool = false,
        @_inheritActorContext _ body:
            nonisolated(nonsending) @escaping @Sendable (Service, repeat each Argument) async throws -> Void
    ) {
        let method = MethodName(name)
        self.init(name, selector, idempotent, Void.self, repeat (each Argument).self) {
            .waiting { call in
                let service: Service = try call.service()
                let arguments: (repeat each Argument) = try Self.read(name, method, call.source)
                try await body(service, repeat each arguments)
                return .null
            }
        }
    }

    /// A method without a result whose closure has no `await`: it runs in place, or on the actor that it belongs to.
    public init<each Argument: Decodable & Sendable>(
        _ name: String, selector: String? = nil, idempotent: Bool = false,
        @_inheritActorContext _ body:
            @escaping @isolated(any) @Sendable (Service, repeat each Argument) throws -> Void
    ) {
        let method = MethodName(name)
        self.init(name, selector, idempotent, Void.self, repeat (each Argument).self) {
            let inPlace = unisolated(body)
            return HandlerBody(on: body.isolation) { call in
                let service: Service = try call.service()
                let arguments: (repeat each Argument) = try Self.read(name, method, call.source)
                try inPlace(service, repeat each arguments)
                return .null
            }
        }
    }

    init<each Argument, Answer>(
        _ name: String, _ selector: String?, _ idempotent: Bool, _ answer: Answer.Type,
        _ types: repeat (each Argument).Type, work: () -> HandlerBody<ExposedMethod.Call, JSONValue>
    ) {
        self.name = name
        self.selector = selector
        self.idempotent = idempotent
        arguments = Self.values(repeat each types)
        result = MethodDescription.Value(of: answer)
        self.work = work()
    }

    private static func values<each Argument>(
        _ types: repeat (each Argument).Type
    ) -> [MethodDescription.Value] {
        var values: [MethodDescription.Value] = []
        for type in repeat each types { values.append(MethodDescription.Value(of: type)) }
        return values
    }

    static func read<each Argument: Decodable>(
        _ name: String, _ method: MethodName?, _ source: ArgumentSource
    ) throws -> (repeat each Argument) {
        // A name that is no name or has other labels is refused when the service is exposed.
        guard let method else {
            throw Failure.handlerFailed("\(name) is not a method name")
        }
        var reader = try ArgumentReader(method: method, source: source)
        func next<T: Decodable>(_ type: T.Type) throws -> T { try reader.next(type) }
        return (repeat try next((each Argument).self))
    }

    static func encode(
        _ answer: some Encodable, of name: String, as form: ServiceResultType
    ) throws -> JSONValue {
        switch form {
        case .none: return .null
        case .reference: return .string(String(describing: answer))
        case .value:
            do {
                return try JSONValueEncoder().encode(answer)
            } catch {
                throw Failure.handlerFailed("the result of \(name) can't be written as JSON: \(error.words)")
            }
        }
    }
}

/// The form of the result; TheRouter's `resultType`.
public enum ServiceResultType: Int, Sendable, Hashable {
    /// Nothing.
    case none = 0
    /// The value, encoded.
    case value = 1
    /// A description as text; the object itself never leaves the process.
    case reference = 2

    /// This form of a value that no method returned.
    func form(of value: JSONValue) -> JSONValue {
        switch self {
        case .none: .null
        case .value: value
        case .reference: .string(value.text)
        }
    }
}

/// Collects the exposed methods of one service.
@resultBuilder
public enum ExposedBuilder<Service: Sendable> {
    /// One method.
    public static func buildExpression(_ method: Exposed<Service>) -> [Exposed<Service>] { [method] }
    /// Several methods.
    public static func buildBlock(_ methods: [Exposed<Service>]...) -> [Exposed<Service>] {
        methods.flatMap(\.self)
    }
    /// Methods under a condition.
    public static func buildOptional(_ methods: [Exposed<Service>]?) -> [Exposed<Service>] { methods ?? [] }
    /// The first of two.
    public static func buildEither(first methods: [Exposed<Service>]) -> [Exposed<Service>] { methods }
    /// The second of two.
    public static func buildEither(second methods: [Exposed<Service>]) -> [Exposed<Service>] { methods }
    /// Methods made in a loop.
    public static func buildArray(_ methods: [[Exposed<Service>]]) -> [Exposed<Service>] {
        methods.flatMap(\.self)
    }
}
