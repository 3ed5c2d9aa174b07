import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Navigate without a screen` {
    func open(_ steps: [(String, JSONValue)], tabs: Int = 3) async throws -> (NavigationStack, [Opening]) {
        let stack = NavigationStack(tabs: tabs)
        let router = Router()
        for name in ["a", "b", "c"] { try router.register(.page("app://\(name)", name: name, in: stack)) }
        var openings: [Opening] = []
        for (name, jump) in steps {
            openings.append(await router.open("app://\(name)", parameters: ["jumpType": jump]))
        }
        return (stack, openings)
    }

    func names(_ stacks: [[Screen]]) -> [[String]] { stacks.map { $0.map(\.name) } }

    @Test func `a push goes on the stack in front and a modal over it`() async throws {
        let (stack, _) = try await open([("a", 1), ("b", "1"), ("c", 0), ("a", 1)])
        #expect(names(stack.state.tabs) == [["a", "b"], [], []])
        #expect(names(stack.state.modals) == [["c", "a"]])
        #expect(stack.state.top?.name == "a")
        #expect(stack.pop()?.name == "a")
        #expect(stack.pop()?.name == "c")
        #expect(stack.state.modals.isEmpty)
        #expect(stack.pop()?.name == "b")
        #expect(stack.pop() == nil)
        #expect(!stack.dismiss())
    }

    @Test func `pop to target goes back to it or pushes it`() async throws {
        let (stack, _) = try await open([("a", 1), ("b", 1), ("c", 1), ("a", 2), ("b", 2)])
        #expect(names(stack.state.tabs)[0] == ["a", "b"])
    }

    @Test func `a window root replaces everything`() async throws {
        let (stack, _) = try await open([("a", 1), ("b", 0), ("c", 3)])
        #expect(names(stack.state.tabs) == [["c"]])
        #expect(stack.state.modals.isEmpty)
    }

    @Test func `a modal is dismissed before the push`() async throws {
        let (stack, _) = try await open([("a", 1), ("b", 0), ("c", 4)])
        #expect(names(stack.state.tabs)[0] == ["a", "c"])
        #expect(stack.state.modals.isEmpty)
    }

    @Test func `a tab is shown, and one that is not there is refused`() async throws {
        let stack = NavigationStack(tabs: 2)
        let router = Router()
        for name in ["a", "b"] { try router.register(.page("app://\(name)", name: name, in: stack)) }
        _ = await router.open("app://a?jumpType=5&tabBarSelecIndex=1")
        _ = await router.open("app://b")
        #expect(names(stack.state.tabs) == [[], ["a", "b"]])
        _ = await router.open("app://a?jumpType=5&tabBarSelecIndex=1")
        #expect(names(stack.state.tabs) == [[], ["a"]])
        // Not `opened`, for it is not shown.
        let other = await router.open("app://b?jumpType=5&tabBarSelecIndex=1")
        #expect(other.code == .badField)
        #expect(other.detail.contains("tab 1 shows a and not b"))
        #expect(names(stack.state.tabs) == [[], ["a"]])
        let opening = await router.open("app://a?jumpType=5&tabBarSelecIndex=2")
        #expect(opening.code == .badField)
        #expect(stack.state.selectedTab == 1)
    }

    @Test func `the state is observed and exported`() async throws {
        let stack = NavigationStack()
        let counts = Guarded<[Int]>([])
        stack.observe { state in counts.withLock { $0.append(state.count) } }
        let router = Router()
        try router.register(.page("app://a", name: "A", in: stack))
        let opening = await router.open("app://a")
        #expect(opening.value == stack.state.json)
        #expect(
            stack.state.json
                == ["tabs": [[["name": "A", "url": "app://a"]]], "selected": 0, "modals": [], "top": "A"])
        #expect(counts.withLock { $0 } == [1])
    }

    @Test func `screens without end meet an error`() throws {
        var state = NavigationState()
        let screen = Screen(name: "a", route: "a", url: "a")
        for _ in 0..<NavigationState.maximumScreens { try state.show(screen) }
        #expect(throws: Failure.self) { try state.show(screen) }
        try state.show(
            Screen(name: "r", route: "r", url: "r", presentation: Presentation(jumpType: .windowNavRoot)))
        #expect(state.count == 1)
    }

    @Test func `moves go back, close modals and change tabs, and say whether anything changed`() async throws
    {
        let (stack, _) = try await open([("a", 1), ("b", 1), ("c", 0), ("a", 1)])
        let router = Router()
        router.use(stack)
        func move(_ move: NavigationMove) async throws -> Bool { try await router.navigate(move) }
        #expect(try await move(.back))
        #expect(names(stack.state.modals) == [["c"]])
        #expect(try await move(.dismiss))
        #expect(try await !move(.dismiss))
        #expect(try await move(.showTab(2)))
        #expect(try await !move(.back))
        #expect(try await move(.showTab(0)))
        #expect(names(stack.state.tabs) == [["a", "b"], [], []])
        #expect(try await move(.popToRoot))
        #expect(try await !move(.popToRoot))
        #expect(names(stack.state.tabs)[0] == ["a"])
        let nowhere = await ending { try await router.navigate(.showTab(3)) }
        #expect(throws: Failure(.badField, "no tab 3; tabs are 0 to 2")) { try nowhere.get() }
    }

    private struct Wall: Navigator {
        func show(_ screen: Screen) async throws -> JSONValue? { nil }
    }

    @Test func `without a navigator that can move it is refused`() async throws {
        let router = Router()
        let none = await ending { try await router.navigate(.back) }
        #expect(throws: Failure(.noNavigator, "this program has no navigator")) { try none.get() }
        router.use(Wall())
        let wall = await ending { try await router.navigate(.back) }
        #expect(throws: Failure(.noNavigator, "the navigator of this program cannot go back")) {
            try wall.get()
        }
    }

    @Test func `the first page's navigator is the router's, and whoever listens hears of each change`()
        async throws
    {
        let router = Router()
        let tops = Guarded<[String]>([])
        router.observeNavigation { state in tops.withLock { $0.append(state.top?.name ?? "") } }
        let stack = NavigationStack()
        try router.register(.page("app://a", name: "a", in: stack))
        try router.register(.page("app://b", name: "b", in: NavigationStack()))
        #expect(router.navigator as? NavigationStack === stack)
        _ = await router.open("app://a")
        _ = await router.open("app://b")
        #expect(tops.withLock(\.self) == ["", "a"])
    }

    @Test func `parents lie below a page that is opened with them`() async throws {
        let stack = NavigationStack(tabs: 2)
        let router = Router()
        for (path, name) in [
            ("app://home", "home"), ("app://orders", "orders"), ("app://orders/:id", "order"),
            ("app://orders/:id/items/:item", "item"), ("app://", "fallback"),
        ] { try router.register(.page(RouteKey(path), name: name, in: stack)) }
        try router.register("app://orders/:id/items", kind: .action) { _ in .opened() }
        try router.relocate([
            RelocationLayer(
                name: "all", entries: [.init(.replace(origin: "app://old", target: "app://home"))])
        ])
        _ = await router.open("app://home")
        _ = await router.open("app://orders/1?jumpType=0")
        _ = await router.open("app://orders/7/items/3?route_parents=true&x=1")
        #expect(names(stack.state.tabs)[0] == ["home", "orders", "order", "item"])
        #expect(
            stack.state.tabs[0][2].parameters == ["id": "7"] && stack.state.tabs[0][2].url == "app://orders/7"
        )
        #expect(stack.state.modals.isEmpty && stack.state.top?.parents == [])
        _ = await router.open("app://orders/8?route_parents=1&tabBarSelecIndex=1")
        #expect(names(stack.state.tabs)[1] == ["orders", "order"] && stack.state.selectedTab == 1)
        // Not twice, and not without being asked for.
        _ = await router.open("app://orders/8/items/1")
        #expect(names(stack.state.tabs)[1] == ["orders", "order", "item"])
        _ = await router.open("app://orders/9?route_parents=1")
        #expect(names(stack.state.tabs)[1] == ["orders", "order"])
    }

    @Test func `a state that was kept goes on after a restart, and a broken one does not`() async throws {
        let (stack, _) = try await open([("a", 1), ("b", 1), ("c", 0)])
        let kept = try JSONValue(encoding: stack.state).serialized()
        let state = try JSONValueDecoder().decode(NavigationState.self, from: JSONValue(parsing: kept))
        #expect(state == stack.state)
        let restored = NavigationStack(restoring: state)
        #expect(try await restored.move(.back))
        #expect(restored.state.top?.name == "b")
        for broken in [
            #"{"tabs":[],"selectedTab":0,"modals":[]}"#, #"{"tabs":[[]],"selectedTab":1,"modals":[]}"#,
            #"{"tabs":[[]],"selectedTab":-1,"modals":[]}"#, #"{"tabs":[[]],"selectedTab":0,"modals":[[]]}"#,
        ] {
            #expect(throws: DecodingError.self) {
                try JSONValueDecoder().decode(NavigationState.self, from: JSONValue(parsing: broken))
            }
        }
    }

    @Test func `parents count too, so that what is kept can be read again`() async throws {
        let stack = NavigationStack()
        func screen(_ name: String) -> Screen { Screen(name: name, route: name, url: "a://\(name)") }
        for _ in 0..<NavigationState.maximumScreens - 1 { _ = try await stack.show(screen("a")) }
        var last = screen("b")
        last.parents = [screen("c")]
        await #expect(throws: Failure.self) { _ = try await stack.show(last) }
        let kept = try JSONValue(encoding: stack.state)
        #expect(try JSONValueDecoder().decode(NavigationState.self, from: kept) == stack.state)
    }

    @Test func `what is published is cut at the back, and says how much there is`() async throws {
        let (stack, _) = try await open((0..<20).map { _ in ("a", 1) } + (0..<5).map { _ in ("b", 0) })
        let json = stack.state.json(atMost: 3)
        #expect(json["tabs"]?.arrayValue?.first?.arrayValue?.count == 3)
        #expect(json["modals"]?.arrayValue?.count == 3)
        #expect(json["screens"] == 25 && stack.state.json["screens"] == nil)
    }
}
