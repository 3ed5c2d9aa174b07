import TestSupport
import Testing

@testable import Waypost
@testable import WaypostTools

@Suite(.patient) struct `Register a path by the destination's name` {
    func router() throws -> Router {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register(
            .destination("UserPage") { request in .opened(.string("user at \(request.route)")) })
        try router.register("app://orders", name: "OrderList") { _ in .opened("orders") }
        return router
    }

    @Test func `one path opens the destination, and so do several at once`() async throws {
        let router = try router()
        try router.register(Route("app://user", to: "UserPage", priority: 3))
        try router.register([Route("app://me", to: "UserPage"), Route("app://bestellungen", to: "OrderList")])
        #expect(await router.open("app://user").value == "user at app://user")
        #expect(await router.open("app://me").value == "user at app://me")
        #expect(await router.open("app://bestellungen").value == "orders")
        #expect(
            router.routes.contains(RouteDescription(path: "app://user", className: "UserPage", priority: 3)))
        #expect(router.check().isClean)
    }

    @Test func `an unknown name, a bad pattern and a held path are errors that change nothing`() async throws
    {
        let router = try router()
        #expect(
            throws: RegistrationError.unknownDestination("UserPag", pattern: "app://u", nearest: ["UserPage"])
        ) {
            try router.register(Route("app://u", to: "UserPag"))
        }
        #expect(throws: RegistrationError.self) { try router.register(Route("app://:", to: "UserPage")) }
        #expect(throws: RegistrationError.self) {
            try router.register([Route("app://a", to: "UserPage"), Route("app://orders", to: "UserPage")])
        }
        #expect(router.routes.map(\.path) == ["app://orders"])
        try router.register(
            [Route("app://a", to: "UserPage"), Route("app://orders", to: "UserPage")], replacing: true)
        #expect(await router.open("app://orders").value == "user at app://orders")
    }
}
