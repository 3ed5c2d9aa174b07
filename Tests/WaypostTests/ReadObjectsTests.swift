import TestSupport
import Testing

@testable import Waypost

/// Models and closures that a caller in this process passes beside the parameters.
@Suite(.patient) struct `Read objects` {
    private static let done: @Sendable (Int) -> Int = { $0 + 1 }

    private func read<T: Sendable>(_ key: String, as type: T.Type) async throws -> Opening {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("app://page") { request in
            .opened(object: try request.parameters.requiredObject(key, as: type))
        }
        return await router.open(
            "app://page", parameters: ["text": "secret"], objects: ["done": Self.done, "model": 7])
    }

    @Test func `one of its type is given`() async throws {
        let opening = try await read("done", as: (@Sendable (Int) -> Int).self)
        #expect(opening.object(as: (@Sendable (Int) -> Int).self)?(6) == 7)
        #expect(try await read("model", as: Int.self).object(as: Int.self) == 7)
    }

    @Test func `one of another type ends the open, and both types are named`() async throws {
        let closure = try await read("done", as: (@Sendable (String) -> Int).self)
        #expect(closure.code == .badField)
        #expect(
            closure.detail
                == #"app://page: parameter "done" is an object of type @Sendable (Int) -> Int "#
                + "(read as @Sendable (String) -> Int)")
        let model = try await read("model", as: String.self)
        #expect(
            model.detail == #"app://page: parameter "model" is an object of type Int (read as String)"#)
    }

    @Test func `a closure is not read without its Sendable`() {
        let parameters = RouteParameters(objects: ["done": Self.done])
        #expect(parameters.object("done", as: ((Int) -> Int).self) == nil)
        let error = #expect(throws: ParameterError.self) {
            try parameters.requiredObject("done", as: ((Int) -> Int).self)
        }
        #expect(error?.reason == "is an object of type @Sendable (Int) -> Int")
        #expect(error?.type == "(Int) -> Int")
    }

    @Test func `one that is absent is missing, also when a parameter has its key`() async throws {
        let absent = try await read("other", as: Int.self)
        #expect(absent.code == .badField)
        #expect(
            absent.detail == #"app://page: parameter "other" is missing among the objects (read as Int)"#)
        let text = try await read("text", as: String.self)
        #expect(
            text.detail
                == #"app://page: parameter "text" is a string, and not among the objects (read as String)"#)
    }
}
