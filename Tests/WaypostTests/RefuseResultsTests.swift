import TestSupport
import Testing

@testable import Waypost

/// Methods whose result can't be written as JSON, which only code that may wait can make at all.
private protocol Refused: Sendable {
    func methods() async -> [Exposed<Int>]
}

private struct Pages: Refused {
    struct Page {
        @discardableResult func shown() -> Page { self }
    }

    // Deprecated, so that the compiler's hints stay in here.
    @available(*, deprecated)
    func methods() async -> [Exposed<Int>] {
        [
            await Exposed("inPlace()") { (_: Int) in Page() },
            await Exposed("waits()") { (_: Int) in
                await Task.yield()
                return Page()
            },
            await Exposed("asks()") { (_: Int, _: OpenContext) in Page() },
            await Exposed("asksAndWaits(_:)") { (_: Int, _: OpenContext, _: Int) in
                await Task.yield()
                return Page()
            },
            await Exposed("discards()") { (_: Int) in Page().shown() },
        ]
    }
}

@Suite(.patient) struct `Refuse results` {
    @Test func `a result that can't be written as JSON is not thrown away`() async throws {
        let registry = ServiceRegistry()
        let pages: any Refused = Pages()
        let methods = await pages.methods()
        try registry.expose(
            ExposedService("S", instance: 0) {
                for method in methods { method }
            })
        for method in try #require(registry.services.first).methods {
            guard case .failure(let failure) = await ending({ try await registry.call("S", method.name) })
            else {
                Issue.record("\(method.name) was called")
                continue
            }
            #expect(failure.detail == "the result of \(method.name) is Page, which is not Encodable")
        }
    }

    @Test func `a method may give nothing, and one whose result nobody wants too`() async throws {
        let registry = ServiceRegistry()
        try registry.expose(
            ExposedService("S", instance: 0) {
                Exposed("a()") { (_: Int) in }
                Exposed("b()") { (_: Int) in _ = Pages.Page() }
                Exposed("c()") { (_: Int) in await Task.yield() }
                Exposed("d()") { (_: Int, _: OpenContext) in await Task.yield() }
                Exposed("e()") { (_: Int) async throws -> Void in try Task.checkCancellation() }
            })
        for method in try #require(registry.services.first).methods {
            #expect(method.result.type == "()")
            #expect(try await registry.call("S", method.name) == JSONValue.null)
        }
    }
}
