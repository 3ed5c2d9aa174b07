import Testing
import Waypost

// This target is compiled as an app is: what does not say otherwise belongs to the main actor.

/// A navigator that is a part of the user interface.
@MainActor private final class AppNavigator: Navigator {
    var stack: [Screen] = []
    var moves: [NavigationMove] = []

    func show(_ screen: Screen) async throws -> JSONValue? {
        MainActor.assertIsolated()
        stack.append(screen)
        return .int(Int64(stack.count))
    }

    func move(_ move: NavigationMove) async throws -> Bool {
        moves.append(move)
        return true
    }
}

/// What the pages of this file left behind.
private final class Journal {
    static let shared = Journal()
    var opened: [String] = []
}

/// A page that is a view.
@MainActor private final class OrderView: RoutablePage {
    private var title: String

    init(from request: RouteRequest) async throws {
        MainActor.assertIsolated()
        title = try request.parameters.value("id", as: String.self)
    }

    func opened() async throws -> JSONValue? {
        title += "!"
        Journal.shared.opened.append(title)
        return .string(title)
    }
}

@MainActor private final class ShopModule: RouteModule {
    var isReady = false

    nonisolated let name = "shop"

    nonisolated var routes: [Route] {
        [Route("app://shop") { @MainActor [self] _ in .opened(.bool(isReady)) }]
    }

    func setUp() async throws { isReady = true }
}

/// What the user interface shows; it registers what it does by itself.
private final class Model {
    var count = 0
    var asked: [String] = []

    func register(in router: Router) throws {
        try router.register("app://count") { request in
            self.count += 1
            return .opened(.int(Int64(self.count)))
        }
        try router.register("app://later") { request in
            await Task.yield()
            self.count += 10
            return .opened(.int(Int64(self.count)))
        }
        try router.intercept("model") { request in
            self.asked.append(request.route)
            return .proceed
        }
        try router.services.expose(
            ExposedService("Model", make: { self }) {
                Exposed("add(_:)") { (model: Model, more: Int) in
                    await Task.yield()
                    model.count += more
                    return model.count
                }
                Exposed("count()") { (model: Model) in model.count }
            })
    }
}

@Suite struct `An app on the main actor` {
    @Test func `a navigator of the main actor keeps its state without a word about it`() async throws {
        let (router, navigator) = (Router(), AppNavigator())
        try router.register(.page("app://orders/:id", name: "Order", in: navigator))
        #expect(await router.open("app://orders/4").value == 1)
        #expect(navigator.stack.map(\.name) == ["Order"])
        #expect(await router.navigate(.back) == .success(true))
        #expect(navigator.moves == [.back])
    }

    @Test func `a page of the main actor is made and opened there`() async throws {
        let router = Router()
        try router.register([Route("app://view/:id", to: OrderView.self)])
        #expect(await router.open("app://view/7").value == "7!")
        #expect(Journal.shared.opened == ["7!"])
    }

    @Test func `a module of the main actor is set up there`() async throws {
        let (router, module) = (Router(), ShopModule())
        router.declare([module])
        #expect(await router.open("app://shop").value == true)
        #expect(module.isReady)
    }

    @Test func `closures of the main actor touch its state, with await and without`() async throws {
        let (router, model) = (Router(), Model())
        try model.register(in: router)
        #expect(await router.open("app://count").value == 1)
        #expect(await router.open("app://later").value == 11)
        #expect(await router.services.call("Model", "add", arguments: .positional([5])) == .success(16))
        #expect(await router.services.call("Model", "count") == .success(16))
        #expect(model.asked == ["app://count", "app://later"])
    }
}
