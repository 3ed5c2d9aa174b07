import TestSupport
import Testing
import Threading

@testable import Waypost

extension RouteKey {
    fileprivate static let item: RouteKey = "f://items/:id"
}

/// Every form of a route takes every argument: what one of them left out was a route that an interceptor missed.
@Suite(.patient) struct `Register every form` {
    enum ItemType: Routable {
        static func open(_ request: RouteRequest) -> RouteAnswer { .opened() }
    }

    struct ItemRoute: TypedRoute {
        static let key: RouteKey = .item
        var id: Int
    }

    struct Module: RouteModule {
        let route: Route
        var routes: [Route] { [route] }
    }

    enum Form: String, CaseIterable {
        case closure, closureThatWaits, type, typed, typedThatWaits, page, typedPage, furtherPath
        case registered, registeredThatWaits, registeredTyped, registeredTypedThatWaits
    }

    enum Place: String, CaseIterable { case router, list, group, groupInGroup, module }

    static let metadata: [String: JSONValue] = ["auth": true]
    static let defaults: [String: JSONValue] = ["page": 1]
    static let parameters = [RouteParameter("page", as: Int?.self, summary: "The page.")]
    static let redirect: Route.Redirect = { _ in nil }
    static let waiting: Route.Handler = { _ in
        await Task.yield()
        return .opened()
    }

    /// The route of a form with all arguments; nil for a form that registers itself.
    static func route(_ form: Form, _ pattern: RouteKey = .item) -> Route? {
        let navigator = NavigationStack()
        switch form {
        case .closure:
            return Route(
                pattern, name: "Item", priority: 3, kind: .action, takesDeeper: true, idempotent: true,
                jumpType: .modal, metadata: metadata, defaults: defaults, parameters: parameters,
                redirect: redirect
            ) { _ in .opened() }
        case .closureThatWaits:
            return Route(
                pattern, name: "Item", priority: 3, kind: .action, takesDeeper: true, idempotent: true,
                jumpType: .modal, metadata: metadata, defaults: defaults, parameters: parameters,
                redirect: redirect, handler: waiting)
        case .type:
            return Route(
                pattern, to: ItemType.self, name: "Item", priority: 3, kind: .action, takesDeeper: true,
                idempotent: true, jumpType: .modal, metadata: metadata, defaults: defaults,
                parameters: parameters, redirect: redirect)
        case .typed:
            return Route(
                ItemRoute.self, name: "Item", priority: 3, kind: .action, takesDeeper: true,
                idempotent: true, jumpType: .modal, metadata: metadata, defaults: defaults,
                parameters: parameters, redirect: redirect
            ) { _, _ in .opened() }
        case .typedThatWaits:
            return Route(
                ItemRoute.self, name: "Item", priority: 3, kind: .action, takesDeeper: true,
                idempotent: true, jumpType: .modal, metadata: metadata, defaults: defaults,
                parameters: parameters, redirect: redirect
            ) { _, request in try await waiting(request) }
        case .page:
            return .page(
                pattern, name: "Item", priority: 3, in: navigator, kind: .action, takesDeeper: true,
                idempotent: true, jumpType: .modal, metadata: metadata, defaults: defaults,
                parameters: parameters, redirect: redirect)
        case .typedPage:
            return .page(
                ItemRoute.self, name: "Item", priority: 3, in: navigator, kind: .action, takesDeeper: true,
                idempotent: true, jumpType: .modal, metadata: metadata, defaults: defaults,
                parameters: parameters, redirect: redirect)
        case .furtherPath:
            return Route(
                pattern, to: "Item", priority: 3, takesDeeper: true, jumpType: .modal, metadata: metadata,
                defaults: defaults, parameters: parameters, redirect: redirect)
        case .registered, .registeredThatWaits, .registeredTyped, .registeredTypedThatWaits: return nil
        }
    }

    /// Registers a form by a verb that makes the route itself.
    static func register(_ form: Form, in registrar: some RouteRegistrar, _ pattern: RouteKey = .item) throws
    {
        switch form {
        case .registered:
            try registrar.register(
                pattern, name: "Item", priority: 3, kind: .action, takesDeeper: true, idempotent: true,
                jumpType: .modal, metadata: metadata, defaults: defaults, parameters: parameters,
                replacing: true, redirect: redirect
            ) { _ in .opened() }
        case .registeredThatWaits:
            try registrar.register(
                pattern, name: "Item", priority: 3, kind: .action, takesDeeper: true, idempotent: true,
                jumpType: .modal, metadata: metadata, defaults: defaults, parameters: parameters,
                replacing: true, redirect: redirect, handler: waiting)
        case .registeredTyped:
            try registrar.register(
                ItemRoute.self, name: "Item", priority: 3, kind: .action, takesDeeper: true,
                idempotent: true, jumpType: .modal, metadata: metadata, defaults: defaults,
                parameters: parameters, replacing: true, redirect: redirect
            ) { _, _ in .opened() }
        case .registeredTypedThatWaits:
            try registrar.register(
                ItemRoute.self, name: "Item", priority: 3, kind: .action, takesDeeper: true,
                idempotent: true, jumpType: .modal, metadata: metadata, defaults: defaults,
                parameters: parameters, replacing: true, redirect: redirect
            ) { _, request in try await waiting(request) }
        default: try registrar.register(try #require(route(form, pattern)), replacing: true)
        }
    }

    private func expect(_ form: Form, in router: Router) async throws {
        let route = try #require(router.routes.first)
        #expect(route.path == "f://items/:id")
        #expect(route.className == "Item")
        #expect(route.priority == 3)
        // A further path is the destination's: of that kind, and run again when that may be.
        #expect(route.kind == (form == .furtherPath ? .web : .action))
        #expect(route.idempotent)
        #expect(route.takesDeeper)
        #expect(route.redirects)
        #expect(route.metadata == Self.metadata)
        #expect(route.defaults == Self.defaults)
        #expect(route.parameters.contains { $0.name == "page" && $0.summary == "The page." })
        let opening = await router.open("f://items/7/deeper")
        #expect(opening.outcome == .opened)
        #expect(opening.metadata == Self.metadata)
        #expect(opening.parameters["page"] == 1)
        #expect(opening.presentation.jumpType == .modal)
    }

    @Test(arguments: Form.allCases) func `with every argument, at a router`(form: Form) async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        if form == .furtherPath {
            try router.register(.destination("Item", kind: .web, idempotent: true, handler: Self.waiting))
        }
        try Self.register(form, in: router)
        try await expect(form, in: router)
    }

    @Test(arguments: Form.allCases, Place.allCases)
    func `with every argument, wherever it is registered`(form: Form, place: Place) async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        if form == .furtherPath {
            try router.register(.destination("Item", kind: .web, idempotent: true, handler: Self.waiting))
        }
        let route = Self.route(form)
        let isTyped = [.typed, .typedThatWaits, .typedPage, .registeredTyped, .registeredTypedThatWaits]
            .contains(form)
        switch (place, route) {
        case (.router, let route?): try router.register(route)
        case (.list, let route?): try router.register([route])
        // The pattern of a typed route is its own, and does not follow that of a group.
        case (.group, _) where !isTyped:
            try router.group("f://items") { try Self.register(form, in: $0, ":id") }
        case (.groupInGroup, _) where !isTyped:
            try router.group("f://") { try $0.group("items") { try Self.register(form, in: $0, ":id") } }
        case (.module, let route?): router.declare([Module(route: route)])
        default: return
        }
        try await expect(form, in: router)
    }

    @Test func `a handle says what was replaced, and takes away what was registered`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("f://a") { _ in .opened(1) }
        #expect(throws: RegistrationError.self) { try router.register("f://a") { _ in .opened(2) } }
        let second = try router.register("f://a", replacing: true) { _ in .opened(2) }
        #expect(second.replaced == ["f://a"])
        #expect(await router.open("f://a").value == 2)
        let third = try router.register("f://a", replacing: true) { _ in .opened(3) }
        second.cancel()
        #expect(await router.open("f://a").value == 3)
        third.cancel()
        third.cancel()
        #expect(!router.canOpen("f://a"))
        #expect(router.routes.isEmpty)
    }

    @Test func `a destination without a path is taken away, and is not replaced by accident`() throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        let first = try router.register(.destination("D", handler: Self.waiting))
        #expect(throws: RegistrationError.destinationTaken("D")) {
            try router.register(.destination("D", handler: Self.waiting))
        }
        let second = try router.register(.destination("D", handler: Self.waiting), replacing: true)
        #expect(second.replaced == ["D"])
        first.cancel()
        #expect(router.knows("D"))
        second.cancel()
        #expect(!router.knows("D"))
    }

    @Test func `a list may hold a destination and its paths, and is refused as a whole`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register([Route("f://a", to: "D"), .destination("D", handler: Self.waiting)])
        #expect(await router.open("f://a").outcome == .opened)
        #expect(throws: RegistrationError.self) {
            try router.register([Route("f://b", handler: Self.waiting), Route("f://c", to: "E")])
        }
        #expect(router.routes.map(\.path) == ["f://a"])
    }

    @Test func `the navigator of the first page is the router's, wherever the page is registered`() throws {
        for place in Place.allCases {
            let router = Router(configuration: RouterConfiguration(registersLinked: false))
            let stack = NavigationStack()
            let page = Route.page("f://page", in: stack)
            switch place {
            case .router: try router.register(page)
            case .list: try router.register([page])
            case .group: try router.group("f://x") { try $0.register(.page("page", in: stack)) }
            case .groupInGroup:
                try router.group("f://x") { try $0.group("y") { try $0.register(.page("page", in: stack)) } }
            case .module: router.declare([Module(route: page)])
            }
            #expect(router.navigator as? NavigationStack === stack, "\(place)")
        }
    }

    @Test func `a key stands wherever a pattern is taken`() async throws {
        let router = Router(
            configuration: RouterConfiguration(webPath: .item, registersLinked: false))
        try router.register(.item, idempotent: true, metadata: Self.metadata) { request in
            .opened(request.parameters["id"])
        }
        #expect(router.canOpen(.item, ["id": 4]))
        #expect(!router.canOpen(.item))
        #expect(try router.resolve(.item, ["id": 4]).route == "f://items/:id")
        #expect(try RouteKey.item.url(["id": 4, "tab": "b"]) == "f://items/4?tab=b")
        #expect(try router.url(for: .item, ["id": 4]) == "f://items/4")
        #expect(await RouteBuilder.build(.item).with("id", 4).open(with: router).value == 4)
        #expect(try RouteBuilder(.item).with("id", 4).command(id: "c")["url"] == "f://items/4")
        #expect(try RouteDescriptor(.item).names == ["id"])
        #expect(try RouteDescriptor.generateURL(.item, ["4"]) == "f://items/4")
        let handles = [
            try router.intercept("a", scope: .patterns([.item])) { _ in .stop(reason: "a") },
            try router.intercept("b", scope: .subtree(.item)) { _ in .stop(reason: "b") },
            try router.intercept("c", scope: .allBut([.item])) { _ in .stop(reason: "c") },
        ]
        #expect(await router.open(.item, ["id": 4]).outcome == .intercepted(by: "a", reason: "a"))
        for handle in handles { handle.cancel() }
        try router.relocate([
            RelocationLayer(
                name: "m", entries: [RelocationEntry(.replace(origin: "f://old/:id", target: .item))])
        ])
        try router.group(.item) { try $0.register("more") { _ in .opened() } }
        #expect(router.canOpen("f://items/4/more"))
        #expect(router.unregister(.item))
        #expect(!router.canOpen(.item, ["id": 4]))
    }
}
