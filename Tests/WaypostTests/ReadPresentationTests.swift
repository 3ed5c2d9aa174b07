import TestSupport
import Testing

@testable import Waypost

@Suite(.patient) struct `Read presentation` {
    static let jumpTypes: [(JSONValue, JumpType, Bool)] = [
        ("0", .modal, false), ("1", .push, false), ("2", .popToTarget, false), ("3", .windowNavRoot, false),
        ("4", .modalDismissBeforePush, false), ("5", .showTab, false), (0, .modal, false),
        (5, .showTab, false),
        ("6", .push, true), ("x", .push, true), ("", .push, true), ("+1", .push, true), (-1, .push, true),
        (.array(["1", "2"]), .push, true), (.bool(true), .push, true),
    ]

    @Test(arguments: jumpTypes)
    func `a jump type is a number or its digit and anything else is push with a warning`(
        hint: JSONValue, type: JumpType, warns: Bool
    ) {
        let presentation = Presentation(RouteParameters(caller: ["jumpType": hint]))
        #expect(presentation.jumpType == type)
        #expect(presentation.warnings.isEmpty == !warns)
    }

    static let flags: [(JSONValue, Bool?)] = [
        ("1", true), ("0", false), ("YES", true), ("True", true), ("no", false), ("false", false), (2, true),
        (0.0, false), (.bool(true), true), ("2", true), ("maybe", nil),
    ]

    @Test(arguments: flags)
    func `no animation is a number or a word in any case`(hint: JSONValue, flag: Bool?) {
        #expect(Presentation(RouteParameters(query: ["route_no_animation": hint])).noAnimation == flag)
    }

    @Test func `without hints it is a push`() {
        let presentation = Presentation(RouteParameters())
        #expect(presentation == Presentation())
        #expect(presentation.json == ["jumpType": 1])
        let tab = Presentation(RouteParameters(query: ["jumpType": "5", "tabBarSelecIndex": "2"]))
        #expect(tab.json == ["jumpType": 5, "tabBarSelecIndex": 2])
    }

    @Test func `the call's style counts more than the route's, and that more than the router's`() async throws
    {
        let router = Router(configuration: RouterConfiguration(jumpType: .modal))
        let stack = NavigationStack()
        try router.register(.page("app://plain", in: stack))
        try router.register(.page("app://root", in: stack, jumpType: .windowNavRoot))
        #expect(await router.open("app://plain").presentation.jumpType == .modal)
        #expect(await router.open("app://root").presentation.jumpType == .windowNavRoot)
        #expect(router.resolve("app://root").presentation.jumpType == .windowNavRoot)
        #expect(stack.state.count == 1)
        let asked = await router.open("app://root", parameters: ["jumpType": 1])
        #expect(asked.presentation.jumpType == .push)
        #expect(stack.state.count == 2)
        // Absent is not the same as push.
        #expect(asked.presentation.requested == .push)
        #expect(await router.open("app://root").presentation.requested == nil)
        // What is none of them is a push, as before.
        #expect(await router.open("app://root?jumpType=9").presentation.jumpType == .push)
    }

    @Test(arguments: [
        "myapp://user?jumpType=1&name=a", "myapp://user?jumpType=1&jumpType=5&name=a", "myapp://user?name=a",
    ])
    func `in ReerRouter's dialect the parameters and the presentation say the same`(url: String) async throws
    {
        let router = try recordingRouter(
            [("user", "User")], configuration: RouterConfiguration(dialect: .reerRouter))
        let opening = await router.open(url, parameters: ["jumpType": 0, "name": "b"])
        #expect(opening.presentation.jumpType == .modal)
        #expect(opening.value?["params"] == ["jumpType": 0, "name": "a"])
        #expect(router.resolve(url, parameters: ["jumpType": 0]).presentation.jumpType == .modal)
        // A map's parameters count as the caller's, and win over them.
        try router.relocate([
            RelocationLayer(
                name: "agent",
                entries: [
                    RelocationEntry(
                        .replace(origin: "myapp://old", target: "myapp://user"), params: ["jumpType": 5])
                ])
        ])
        let moved = await router.open("myapp://old", parameters: ["jumpType": 0])
        #expect(moved.presentation.jumpType == .showTab)
        #expect(moved.value?["params"] == ["jumpType": 5])
    }

    @Test func `in ReerRouter's dialect push and present win over the URL's jumpType`() async throws {
        let router = try recordingRouter(
            [("user", "User")], configuration: RouterConfiguration(dialect: .reerRouter))
        let presented = await router.open(
            "myapp://user?jumpType=1&name=a", parameters: ["jumpType": 0, "name": "b"])
        #expect(presented.presentation.jumpType == .modal)
        // Other keys follow the dialect: the query wins.
        #expect(presented.parameters["name"] == "a")
        #expect(await router.open("myapp://user?jumpType=0").presentation.jumpType == .modal)
    }

    @Test func `a type states how its screen is shown`() async throws {
        enum Sheet: Routable {
            static var jumpType: JumpType? { .modal }
            static func open(_ request: RouteRequest) async throws -> RouteAnswer {
                .opened(request.presentation.json)
            }
        }
        let router = Router()
        try router.register([Route("app://sheet", to: Sheet.self)])
        #expect(await router.open("app://sheet").value == ["jumpType": 0])
    }
}
