import Testing

@testable import Waypost

@Suite struct `Register a path by the destination's name` {
    func router() throws -> Router {
        let router = Router()
        router.registerDestination("UserPage") { request in .opened(.string("user at \(request.route)")) }
        try router.register("app://orders", name: "OrderList") { _ in .opened("orders") }
        return router
    }

    @Test func `one path opens the destination, and so do several at once`() async throws {
        let router = try router()
        try router.register("app://user", destination: "UserPage", priority: 3)
        try router.register(destinations: ["app://me": "UserPage", "app://bestellungen": "OrderList"])
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
            try router.register("app://u", destination: "UserPag")
        }
        #expect(throws: RegistrationError.self) { try router.register("app://:", destination: "UserPage") }
        #expect(throws: RegistrationError.self) {
            try router.register(destinations: ["app://a": "UserPage", "app://orders": "UserPage"])
        }
        #expect(router.routes.map(\.path) == ["app://orders"])
        try router.register(
            destinations: ["app://a": "UserPage", "app://orders": "UserPage"], replacing: true)
        #expect(await router.open("app://orders").value == "user at app://orders")
    }
}
