extension Exposed {
    /// A method that asks who calls it: its closure takes the service, the caller, and then the arguments.
    ///
    ///     Exposed("print(_:)") { (printer: Printer, context: OpenContext, text: String) in
    ///         try printer.print(text, for: context.caller ?? "the program")
    ///     }
    ///
    /// The context is no argument: it stands neither in the name nor in the contract, and no caller can send it.
    public init<each Argument: Decodable & Sendable, Answer: Encodable & SendableMetatype>(
        _ name: String, selector: String? = nil, idempotent: Bool = false,
        @_inheritActorContext _ body:
            nonisolated(nonsending) @escaping @Sendable (Service, OpenContext, repeat each Argument)
            async throws -> Answer
    ) {
        let method = MethodName(name)
        self.init(name, selector, idempotent, Answer.self, repeat (each Argument).self) {
            .waiting { call in
                let service: Service = try call.service()
                let arguments: (repeat each Argument) = try Self.read(name, method, call.source)
                let answer = try await body(service, call.context, repeat each arguments)
                return try Self.encode(answer, of: name, as: call.result)
            }
        }
    }

    /// The same for a closure without `await`: it runs in place, or on the actor that it belongs to.
    public init<each Argument: Decodable & Sendable, Answer: Encodable & SendableMetatype>(
        _ name: String, selector: String? = nil, idempotent: Bool = false,
        @_inheritActorContext _ body:
            @escaping @isolated(any) @Sendable (Service, OpenContext, repeat each Argument) throws -> Answer
    ) {
        let method = MethodName(name)
        self.init(name, selector, idempotent, Answer.self, repeat (each Argument).self) {
            let inPlace = unisolated(body)
            return HandlerBody(on: body.isolation) { call in
                let service: Service = try call.service()
                let arguments: (repeat each Argument) = try Self.read(name, method, call.source)
                let answer = try inPlace(service, call.context, repeat each arguments)
                return try Self.encode(answer, of: name, as: call.result)
            }
        }
    }

    /// A method without a result that asks who calls it.
    public init<each Argument: Decodable & Sendable>(
        _ name: String, selector: String? = nil, idempotent: Bool = false,
        @_inheritActorContext _ body:
            nonisolated(nonsending) @escaping @Sendable (Service, OpenContext, repeat each Argument)
            async throws -> Void
    ) {
        let method = MethodName(name)
        self.init(name, selector, idempotent, Void.self, repeat (each Argument).self) {
            .waiting { call in
                let service: Service = try call.service()
                let arguments: (repeat each Argument) = try Self.read(name, method, call.source)
                try await body(service, call.context, repeat each arguments)
                return .null
            }
        }
    }

    /// The same for a closure without `await`: it runs in place, or on the actor that it belongs to.
    public init<each Argument: Decodable & Sendable>(
        _ name: String, selector: String? = nil, idempotent: Bool = false,
        @_inheritActorContext _ body:
            @escaping @isolated(any) @Sendable (Service, OpenContext, repeat each Argument) throws -> Void
    ) {
        let method = MethodName(name)
        self.init(name, selector, idempotent, Void.self, repeat (each Argument).self) {
            let inPlace = unisolated(body)
            return HandlerBody(on: body.isolation) { call in
                let service: Service = try call.service()
                let arguments: (repeat each Argument) = try Self.read(name, method, call.source)
                try inPlace(service, call.context, repeat each arguments)
                return .null
            }
        }
    }
}
