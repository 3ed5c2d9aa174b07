import Testing

@testable import Waypost

@Suite struct `Read presentation` {
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
}
