import Testing
import Threading

@testable import Waypost

@Suite struct `Navigate without a screen` {
    func open(_ steps: [(String, JSONValue)], tabs: Int = 3) async throws -> (NavigationStack, [Opening]) {
        let stack = NavigationStack(tabs: tabs)
        let router = Router()
        for name in ["a", "b", "c"] { try router.register(page: "app://\(name)", name: name, in: stack) }
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
        for name in ["a", "b"] { try router.register(page: "app://\(name)", name: name, in: stack) }
        _ = await router.open("app://a?jumpType=5&tabBarSelecIndex=1")
        _ = await router.open("app://b")
        #expect(names(stack.state.tabs) == [[], ["a", "b"]])
        _ = await router.open("app://b?jumpType=5&tabBarSelecIndex=1")
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
        try router.register(page: "app://a", name: "A", in: stack)
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
        #expect(throws: Rejection.self) { try state.show(screen) }
        try state.show(
            Screen(name: "r", route: "r", url: "r", presentation: Presentation(jumpType: .windowNavRoot)))
        #expect(state.count == 1)
    }
}
