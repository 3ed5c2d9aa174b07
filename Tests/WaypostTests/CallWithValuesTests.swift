import TestSupport
import Testing
import Threading

@testable import Waypost

/// A method is called with the program's own values, without a way through JSON.
@Suite(.patient) struct `Call a service with values` {
    /// Can't be read from JSON: only the value itself gets through.
    final class Document: Codable, Sendable {
        let pages: Int

        init(pages: Int) { self.pages = pages }
        init(from decoder: any Decoder) throws { throw Failure(.badField, "a document is not read") }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(pages)
        }
    }

    struct Unwritable: Codable, Sendable {
        init() {}
        func encode(to encoder: any Encoder) throws { throw Failure(.badField, "not written") }
    }

    struct Printer: Sendable {}

    func printer() throws -> ServiceRegistry {
        let registry = ServiceRegistry(clock: EndlessClock())
        try registry.expose(
            ExposedService("Printer", make: Printer.init) {
                Exposed("print(_:copies:)") { (_: Printer, document: Document, copies: Int?) in
                    document.pages * (copies ?? 1)
                }
                Exposed("scale(_:)") { (_: Printer, factor: Double) in factor }
                Exposed("stop()") { (_: Printer) in }
            })
        return registry
    }

    final class Runs: Sendable {
        let names = Guarded<[String]>([])
    }

    /// Methods of every kind of result, which count their runs.
    func counted(_ runs: Runs) throws -> ServiceRegistry {
        let registry = ServiceRegistry(clock: EndlessClock())
        @Sendable func ran(_ name: String) { runs.names.withLock { $0.append(name) } }
        try registry.expose(
            ExposedService("All", make: Printer.init) {
                Exposed("nothing(_:)") { (_: Printer, _: Int) in ran("nothing") }
                Exposed("later()") { (_: Printer) async in ran("later") }
                Exposed("text()") { (_: Printer) in
                    ran("text")
                    return "7"
                }
                Exposed("number()") { (_: Printer) in
                    ran("number")
                    return 7.0
                }
                Exposed("perhaps()") { (_: Printer) -> Int? in
                    ran("perhaps")
                    return nil
                }
                Exposed("any()") { (_: Printer) -> JSONValue in
                    ran("any")
                    return ["a": 1]
                }
            })
        return registry
    }

    @Test func `a method without a result is called for what it does`() async throws {
        let runs = Runs()
        let registry = try counted(runs)
        try await registry.call("All", "nothing", with: 1)
        try await registry.call("All", "later")
        // A result that no one wants is no failure either.
        try await registry.call("All", "text")
        #expect(runs.names.withLock { $0 } == ["nothing", "later", "text"])
        await #expect(throws: Failure(.badField, "nothing(_:) takes 1 arguments but got 2")) {
            try await registry.call("All", "nothing", with: 1, "two")
        }
    }

    /// Each method with a type that its result can never be, and what is said.
    @Test(arguments: [
        ("nothing", "All.nothing(_:) has no result that could be Bool; it is called without a type"),
        ("later", "All.later() has no result that could be Bool; it is called without a type"),
        ("text", "the result of All.text() is String, which can't be read as Bool"),
        ("number", "the result of All.number() is Double, which can't be read as Bool"),
        ("perhaps", "the result of All.perhaps() is Optional<Int>, which can't be read as Bool"),
    ])
    func `a result of another type is refused before the method runs`(
        _ method: String, _ words: String
    ) async throws {
        let runs = Runs()
        let registry = try counted(runs)
        await #expect(throws: Failure(.badField, words)) {
            try await registry.call("All", method, as: Bool.self)
        }
        #expect(runs.names.withLock { $0 }.isEmpty)
    }

    @Test func `what may fit is called, and read`() async throws {
        let registry = try counted(Runs())
        #expect(try await registry.call("All", "number", as: Int.self) == 7)
        #expect(try await registry.call("All", "perhaps", as: Bool?.self) == nil)
        #expect(try await registry.call("All", "later", as: Int?.self) == nil)
        #expect(try await registry.call("All", "any", as: [String: Int].self) == ["a": 1])
        await #expect(
            throws: Failure(.badField, "the result of All.any should be a string but is an object")
        ) {
            try await registry.call("All", "any", as: String.self)
        }
    }

    @Test func `a value of the parameter's type reaches the method as it is`() async throws {
        let registry = try printer()
        let pages = try await registry.call("Printer", "print", with: Document(pages: 3), 2, as: Int.self)
        #expect(pages == 6)
        #expect(try await registry.call("Printer", "print", with: Document(pages: 3), as: Int.self) == 3)
    }

    @Test func `a value of another type is written and read`() async throws {
        let registry = try printer()
        #expect(try await registry.call("Printer", "scale", with: 2, as: Double.self) == 2)
        #expect(try await registry.call("Printer", "stop", as: JSONValue.self) == .null)
        #expect(try await registry.call("Printer", "stop") == .null)
    }

    @Test func `what does not fit is a failure that names it`() async throws {
        let registry = try printer()
        await #expect(
            throws: Failure(.badField, "argument \"1\" of scale(_:) should be a number but is a string")
        ) {
            try await registry.call("Printer", "scale", with: "2", as: Double.self)
        }
        await #expect(throws: Failure(.badField, "stop() takes 0 arguments but got 1")) {
            try await registry.call("Printer", "stop", with: 1, as: JSONValue.self)
        }
        await #expect(
            throws: Failure(
                .badField,
                "argument \"copies\" of print(_:copies:) should be an integer (Int) but is a string")
        ) {
            try await registry.call("Printer", "print", with: Document(pages: 1), "2", as: Int.self)
        }
        let unwritten = await #expect(throws: Failure.self) {
            try await registry.call("Printer", "scale", with: Unwritable(), as: Double.self)
        }
        #expect(unwritten?.detail.hasPrefix("argument \"1\" of scale(_:) can't be written as JSON") == true)
    }

    @Test func `hooks are asked and see the values as JSON`() async throws {
        let registry = try printer()
        registry.willCall("no large ones") { call in
            call.arguments == .positional([7, 1]) ? .stop(reason: "too many pages") : .proceed
        }
        await #expect(throws: Failure(.intercepted, "intercepted by no large ones: too many pages")) {
            try await registry.call("Printer", "print", with: Document(pages: 7), 1, as: Int.self)
        }
        #expect(try await registry.call("Printer", "print", with: Document(pages: 6), 1, as: Int.self) == 6)
    }
}
