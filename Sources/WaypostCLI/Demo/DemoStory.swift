import Waypost
import WaypostMessages

/// What the demo shows, chapter by chapter.
struct DemoStory: Sendable {
    struct Chapter: Sendable {
        var title: String
        var steps: [DemoStep]
    }

    static let chapters = [
        Chapter(
            title: "Open screens",
            steps: [
                .open("\(demo)?id=2", ["name": "AKyS"], shows: controller),
                .open("scheme://router/user/42", shows: "UserScreen"),
                .open("https://example.com/help", shows: "WebScreen"),
            ]),
        Chapter(
            title: "Redirect a screen, and restore it",
            steps: [
                .patch("redirect demo to demo1", [replace(demo, "\(demo)1")]),
                .open("\(demo)?id=2", shows: "\(controller)A"),
                .patch("restore demo", [["routerType": 4, "orginPath": .string(demo)]]),
                .open("\(demo)?id=2", shows: controller),
            ]),
        Chapter(
            title: "Repair a wrong path that clients already use",
            steps: [
                .open("\(demo)33", .noRoute),
                .patch("repair demo33: it means demo3", [replace("\(demo)33", "\(demo)3")]),
                .open("\(demo)33", shows: "\(controller)C"),
            ]),
        Chapter(
            title: "Add a path, delete another, and start again",
            steps: [
                .patch(
                    "add promo for a screen that the build has",
                    [
                        [
                            "routerType": 2, "path": "scheme://router/promo",
                            "className": .string("\(controller)B"),
                        ]
                    ]),
                .open("scheme://router/promo", shows: "\(controller)B"),
                .patch("delete demo2Android", [["routerType": 3, "path": .string("\(demo)2Android")]]),
                .open("\(demo)2Android", .noRoute),
                DemoStep(
                    caption: "the whole map, rev 1: empty, so nothing is relocated",
                    action: .map(revision: 1, []), expectation: .applied),
                .open("\(demo)2Android", shows: "\(controller)B"),
            ]),
        Chapter(
            title: "Call services",
            steps: [
                .call("CalculatorService", "add", .positional([2, 3]), gives: 5),
                .call("CalculatorService", "divide(a:by:)", .labeled(["a": 1, "by": 4]), gives: 0.25),
                DemoStep(
                    caption: "open TheRouter's service URL",
                    action: .command(
                        .open(url: serviceURL, parameters: ["ivar1": ["key": "value"]])),
                    expectation: .reply(.ok)),
            ]),
        Chapter(
            title: "Behind a login",
            steps: [
                .open("scheme://router/orders", .intercepted),
                .open("scheme://router/login?user=Ada", shows: "LoginScreen"),
                .open("scheme://router/orders", shows: "OrdersScreen"),
            ]),
        Chapter(title: "Mistakes: each one is answered", steps: mistakes),
        Chapter(
            title: "Stop and restart",
            steps: [
                DemoStep(
                    caption: "the agent is stopped (SIGTERM)", action: .stopAgent, expectation: .offline),
                DemoStep(
                    caption: "call LedgerService append while it is away, then start it",
                    action: .commandWhileAway(
                        .call(
                            service: "LedgerService", method: "append",
                            arguments: .positional(["while you were away"]))),
                    expectation: .reply(.ok, value: 1)),
            ]),
    ]

    private static let mistakes: [DemoStep] = [
        .call("CalculatorService", "divide(a:by:)", .positional([1, 0]), .handlerFailed),
        .call("CalculatorService", "add", .positional([.int(.max), 1]), .handlerFailed),
        .call("CalculatorService", "add", .positional(["two", 3]), .badField),
        .call("CalculatorService", "multiply", .positional([2, 3]), .noMethod),
        .call("Calculator", "add", .positional([2, 3]), .noService),
        DemoStep(
            caption: "send {\"id\": and nothing more", action: .raw("{\"id\":"),
            expectation: .failure(.badJSON)),
        DemoStep(
            caption: "send a command of type dance",
            action: .raw("{\"id\":\"demo-dance\",\"type\":\"dance\"}"), expectation: .failure(.unknownType)),
        DemoStep(
            caption: "open demo, too late",
            action: .late(.open(url: demo, parameters: [:])), expectation: .reply(.expired)),
        DemoStep(
            caption: "redirect demo to demo1 and demo1 to demo",
            action: .patch([replace(demo, "\(demo)1"), replace("\(demo)1", demo)]),
            expectation: .mapRefused(.cycle)),
        DemoStep(
            caption: "another map under the same rev 1",
            action: .map(revision: 1, [replace(demo, "\(demo)1")]), expectation: .mapRefused(.equivocation)),
        DemoStep(
            caption: "the same map under rev 2, as it should be",
            action: .map(revision: 2, [replace(demo, "\(demo)1")]), expectation: .applied),
    ]

    private static let demo = "scheme://router/demo"
    private static let controller = "TheRouter_Example.TheRouterController"
    private static let serviceURL =
        "scheme://services?protocol=AppConfigServiceProtocol&method=openMiniProgramWithInfo:&resultType=1"

    private static func replace(_ origin: String, _ target: String) -> JSONValue {
        ["routerType": 1, "orginPath": .string(origin), "targetPath": .string(target)]
    }
}
