import TestSupport
import Testing

@testable import Waypost

private enum Hidden: Routable {
    static func open(_ request: RouteRequest) -> RouteAnswer { .opened(.string("hidden")) }
    static func redirect(_ request: RouteRequest) -> String? {
        request.url.query["as"].map { "types/decoded?name=\($0)&size=2" }
    }

    enum Deeper: Routable {
        static func open(_ request: RouteRequest) -> RouteAnswer { .pass }
    }
}

struct DecodedPage: RoutablePage, Decodable {
    let name: String
    let size: Int?

    func opened() async throws -> JSONValue? { .string("\(name) \(size ?? 0)") }
}

@MainActor final class ScreenPage: RoutablePage {
    let id: Int

    init?(from request: RouteRequest) async throws {
        id = try request.parameters.value("id")
        guard id > 0 else { return nil }
    }
}

@Suite(.patient) struct `Register a type` {
    static func router() throws -> Router {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register([
            Route("types/hidden", to: Hidden.self, priority: 5),
            Route("types/deeper", to: Hidden.Deeper.self),
            Route("types/decoded", to: DecodedPage.self, name: "Decoded", kind: .action, idempotent: true),
            Route("types/screen/:id", to: ScreenPage.self, takesDeeper: true),
        ])
        return router
    }

    @Test func `a type is named by its module, a private one too`() throws {
        var id = RouteParameter("id", ValueSchema(.string), isRequired: true)
        id.isInPath = true
        #expect(
            try Self.router().routes == [
                RouteDescription(
                    path: "types/decoded", className: "Decoded", kind: .action, idempotent: true,
                    redirects: true, parameters: DecodedPage.parameters),
                RouteDescription(
                    path: "types/deeper", className: "WaypostTests.Hidden.Deeper", redirects: true),
                RouteDescription(
                    path: "types/hidden", className: "WaypostTests.Hidden", priority: 5, redirects: true),
                RouteDescription(
                    path: "types/screen/:id", className: "WaypostTests.ScreenPage", takesDeeper: true,
                    redirects: true, parameters: [id]),
            ])
        #expect(DecodedPage.parameters.map(\.text) == ["name: string", "size?: integer"])
    }

    @Test func `a type opens by itself or sends the request on`() async throws {
        let router = try Self.router()
        #expect(await router.open("types/hidden").value == "hidden")
        let moved = await router.open("types/hidden?as=me")
        #expect(moved.value == "me 2")
        #expect(moved.hops == ["types/decoded?name=me&size=2"])
    }

    @Test func `a page is made of the parameters, and reports what is wrong with them`() async throws {
        let router = try Self.router()
        #expect(await router.open("types/decoded?name=x").value == "x 0")
        let failed = await router.open("types/decoded?size=1")
        #expect(failed.code == .badField)
        #expect(failed.detail.contains("name"))
    }

    @Test func `a page that is not made declines`() async throws {
        let router = try Self.router()
        #expect(await router.open("types/screen/1/deeper").outcome == .opened)
        guard case .notFound = await router.open("types/screen/0").outcome else {
            Issue.record("a page that declined was opened")
            return
        }
    }

    @Test func `a service is fetched by its protocol and by its type, and is one instance`() throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.services.expose(
            ExposedService("Named", as: (any Named).self, make: Namer.init, convert: { $0 }) {
                Exposed("name()") { (namer: Namer) in namer.name() }
            })
        let namer = try router.services.fetch(Namer.self)
        let named = try router.services.fetch((any Named).self)
        #expect(named as AnyObject === namer)
        #expect(router.services.services.map(\.name) == ["Named"])
    }
}

private protocol Named: Sendable {
    func name() -> String
}

private final class Namer: Named {
    func name() -> String { "namer" }
}
