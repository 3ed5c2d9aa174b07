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

/// Every listener and factory of the interface, each written where its state is.
private final class Board {
    var seen: [String: [String]] = [:]
    var made: [String] = []

    /// The listeners, by their names.
    func listen(_ router: Router, _ stack: NavigationStack) -> [RegistrationHandle] {
        [
            router.onOpen { self.note("onOpen", $0.url) },
            router.onFailure { self.note("onFailure", $0.url) },
            router.observe { self.note("observe", $0.kind.rawValue) },
            router.observeNavigation { self.note("observeNavigation", $0.top?.route ?? "-") },
            router.services.observe { self.note("services", $0.kind.rawValue) },
            stack.observe { self.note("stack", $0.top?.route ?? "-") },
        ]
    }

    func note(_ listener: String, _ event: String) {
        MainActor.assertIsolated()
        seen[listener, default: []].append(event)
        waiting?.resume()
        waiting = nil
    }

    private var waiting: CheckedContinuation<Void, Never>?

    /// Waits for one event after the other until that is so.
    func until(_ isOver: () -> Bool) async {
        while !isOver() { await withCheckedContinuation { waiting = $0 } }
    }

    private func make(_ name: String) -> Part {
        MainActor.assertIsolated()
        made.append(name)
        return Part(name: name)
    }

    func provide(_ services: ServiceRegistry) throws {
        services.register(Part.self) { self.make("register") }
        services.register([ServiceProvider(Int.self) { self.make("provider").name.count }])
        try services.expose([
            ExposedService("Plain", make: { self.make("plain") }) {
                Exposed("name()") { (part: Part) in part.name }
                Exposed("shown()") { @MainActor (part: Part) in part.name }
            },
            ExposedService("Each", lifetime: .perCall, make: { Turn(name: self.make("each").name) }) {
                Exposed("name()") { (turn: Turn) async in turn.name }
            },
            ExposedService(
                "Composed", make: { Whole(part: try $0.fetch(Part.self), board: self.made.count) }
            ) {
                Exposed("name()") { (whole: Whole) in whole.part.name }
            },
            ExposedService(
                "Named", as: (any Named).self, make: { Badge(name: self.make("badge").name) },
                convert: {
                    self.made.append("convert"); return $0
                }
            ) {
                Exposed("name()") { (badge: Badge) in badge.name }
            },
        ])
    }
}

nonisolated private struct Part: Sendable {
    let name: String
}

nonisolated private struct Turn: Sendable {
    let name: String
}

nonisolated private struct Whole: Sendable {
    let part: Part
    let board: Int
}

nonisolated private protocol Named: Sendable {
    var name: String { get }
}

nonisolated private struct Badge: Named {
    let name: String
}

/// Runs away from the main actor.
nonisolated private func elsewhere<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await Task.detached { try await body() }.value
}

@Suite(.timeLimit(.minutes(60))) struct `Closures of the main actor` {
    @Test func `each listener hears all, in order, where its state is`() async throws {
        let (router, board, stack) = (Router(), Board(), NavigationStack())
        try router.register(.page("app://orders/:id", name: "Order", in: stack))
        try router.services.expose(
            ExposedService("S", instance: Part(name: "s")) { Exposed("name()") { (part: Part) in part.name } }
        )
        let handles = board.listen(router, stack)
        try await elsewhere {
            for id in 0..<50 { _ = await router.open("app://orders/\(id)") }
            _ = await router.open("app://nowhere")
            try await router.services.call("S", "name")
        }
        await board.until {
            board.seen.mapValues(\.count).filter { $0.key != "observe" } == [
                "onFailure": 1, "services": 2, "onOpen": 51, "stack": 50, "observeNavigation": 50,
            ] && board.seen["observe"]?.last == "failed"
        }
        #expect(board.seen["onOpen"] == (0..<50).map { "app://orders/\($0)" } + ["app://nowhere"])
        #expect(board.seen["onFailure"] == ["app://nowhere"])
        #expect(board.seen["services"] == ["called", "returned"])
        for handle in handles {
            #expect(handle.dropped == 0)
            handle.cancel()
        }
        let before = board.seen
        _ = await router.open("app://orders/7")
        for _ in 0..<100 { await Task.yield() }
        #expect(board.seen == before)
    }

    @Test func `what the main actor can't take is counted, and the first 1 024 are kept`() async throws {
        let (router, board) = (Router(), Board())
        try router.register("app://x") { _ in .opened() }
        let handle = router.onOpen { board.note("onOpen", $0.url) }
        // The main actor does nothing else meanwhile: the opens run here, and never wait.
        for _ in 0..<2_000 { _ = await router.open("app://x") }
        await board.until { handle.dropped + (board.seen["onOpen"]?.count ?? 0) == 2_000 }
        #expect(board.seen["onOpen"]?.count ?? 0 >= 1_024)
    }

    @Test func `a factory runs where its state is, whoever asks`() async throws {
        let (router, board) = (Router(), Board())
        let services = router.services
        try board.provide(services)
        for (service, name) in [
            ("Named", "badge"), ("Each", "each"), ("Each", "each"), ("Plain", "register"),
        ] {
            #expect(try await elsewhere { try await services.call(service, "name") } == .string(name))
        }
        #expect(try await elsewhere { try await services.call("Plain", "shown") } == "register")
        #expect(try await elsewhere { try await services.call("Composed", "name") } == "register")
        #expect(try await elsewhere { try await services.fetch(Int.self, within: .seconds(30)) } == 8)
        #expect(try services.fetch((any Named).self).name == "badge")
        #expect(board.made == ["badge", "each", "each", "register", "provider", "convert"])
    }

    @Test func `who can't wait is told where the service is made`() async throws {
        let (router, board) = (Router(), Board())
        let services = router.services
        try board.provide(services)
        let failure = await #expect(throws: Failure.self) {
            try await elsewhere { try services.fetch(Part.self) }
        }
        #expect(
            failure?.detail
                == "Part is made on MainActor: fetch it there first, or with fetch(_:within:)")
        #expect(try services.fetch(Part.self).name == "register")
        #expect(try await elsewhere { try services.fetch(Part.self).name } == "register")
        try router.register("app://part") { request in
            .opened(.string(try request.service(Part.self).name))
        }
        #expect(await router.open("app://part").value == "register")
    }
}

@Suite struct `An app on the main actor` {
    @Test func `a navigator of the main actor keeps its state without a word about it`() async throws {
        let (router, navigator) = (Router(), AppNavigator())
        try router.register(.page("app://orders/:id", name: "Order", in: navigator))
        #expect(await router.open("app://orders/4").value == 1)
        #expect(navigator.stack.map(\.name) == ["Order"])
        #expect(try await router.navigate(.back) == true)
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
        #expect(try await router.services.call("Model", "add", arguments: .positional([5])) == 16)
        #expect(try await router.services.call("Model", "count") == 16)
        #expect(model.asked == ["app://count", "app://later"])
    }
}
