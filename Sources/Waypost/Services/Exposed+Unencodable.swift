// A closure of one expression fits one that returns nothing, whatever the expression gives: without the initializers
// here, the value would be thrown away, and each call end in a null. One that is marked as unavailable would not be
// taken, as the others fit as well; one that belongs to an actor is, and then it can't be called where methods are
// listed.

/// The actor of a method whose result can't be written as JSON: nothing runs on it, and so such a method can't be exposed.
@globalActor
public actor ResultMustBeEncodable {
    /// The actor that nothing runs on.
    public static let shared = ResultMustBeEncodable()
}

extension Exposed {
    /// Refused by the compiler: the result is not `Encodable`.
    @ResultMustBeEncodable
    @available(
        *, deprecated,
        message: "the result must be Encodable; to call the method without its result, write `_ =` before it"
    )
    public init<each Argument: Decodable & Sendable, Answer>(
        _ name: String, selector: String? = nil, idempotent: Bool = false,
        @_inheritActorContext _ body:
            nonisolated(nonsending) @escaping @Sendable (Service, repeat each Argument) async throws -> Answer
    ) {
        self.init(refused: name, Answer.self, repeat (each Argument).self)
    }

    /// Refused by the compiler: the result is not `Encodable`.
    @ResultMustBeEncodable
    @available(
        *, deprecated,
        message: "the result must be Encodable; to call the method without its result, write `_ =` before it"
    )
    public init<each Argument: Decodable & Sendable, Answer>(
        _ name: String, selector: String? = nil, idempotent: Bool = false,
        @_inheritActorContext _ body:
            @escaping @isolated(any) @Sendable (Service, repeat each Argument) throws -> Answer
    ) {
        self.init(refused: name, Answer.self, repeat (each Argument).self)
    }

    /// Refused by the compiler: the result is not `Encodable`.
    @ResultMustBeEncodable
    @available(
        *, deprecated,
        message: "the result must be Encodable; to call the method without its result, write `_ =` before it"
    )
    public init<each Argument: Decodable & Sendable, Answer>(
        _ name: String, selector: String? = nil, idempotent: Bool = false,
        @_inheritActorContext _ body:
            nonisolated(nonsending) @escaping @Sendable (Service, OpenContext, repeat each Argument)
            async throws -> Answer
    ) {
        self.init(refused: name, Answer.self, repeat (each Argument).self)
    }

    /// Refused by the compiler: the result is not `Encodable`.
    @ResultMustBeEncodable
    @available(
        *, deprecated,
        message: "the result must be Encodable; to call the method without its result, write `_ =` before it"
    )
    public init<each Argument: Decodable & Sendable, Answer>(
        _ name: String, selector: String? = nil, idempotent: Bool = false,
        @_inheritActorContext _ body:
            @escaping @isolated(any) @Sendable (Service, OpenContext, repeat each Argument) throws -> Answer
    ) {
        self.init(refused: name, Answer.self, repeat (each Argument).self)
    }

    private init<each Argument, Answer>(
        refused name: String, _ answer: Answer.Type, _ types: repeat (each Argument).Type
    ) {
        self.init(name, nil, false, answer, repeat each types) {
            .immediate { _ in
                throw Failure.handlerFailed("the result of \(name) is \(Answer.self), which is not Encodable")
            }
        }
    }
}
