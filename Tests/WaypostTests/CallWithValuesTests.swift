import Testing

@testable import Waypost

/// A method is called with the program's own values, without a way through JSON.
@Suite struct `Call a service with values` {
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
        let registry = ServiceRegistry()
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
        await #expect(
            throws: Failure(.badField, "the result of Printer.scale should be a string but is a number")
        ) {
            try await registry.call("Printer", "scale", with: 2.5, as: String.self)
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
