import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Native values` {
    final class ViewController: Sendable {
        let title: String
        init(_ title: String) { self.title = title }
    }

    @Test func `a handler returns a native value, and the opening has it with the final parameters`()
        async throws
    {
        let router = Router()
        try router.register("app://user/:id") { request in
            .opened(true, object: ViewController(try request.parameters.value("id")))
        }
        try router.register("app://old", redirect: { _ in "app://user/7?x=1" }, handler: { _ in .pass })
        try router.intercept { _ in .rewrite(["y": 2]) }
        let opening = await router.open("app://old", parameters: ["name": "Ann"], objects: ["model": 3])
        #expect(opening.object(as: ViewController.self)?.title == "7")
        #expect(opening.object(as: String.self) == nil)
        #expect(opening.value == true)
        #expect(opening.parameters.merged == ["id": "7", "x": "1", "name": "Ann", "y": 2])
        #expect(opening.parameters.object("model", as: Int.self) == 3)
        #expect(opening == opening)
        #expect(opening.json["value"] == true)
        // What callers and screens hold does not live on in the history.
        #expect(router.lastOpens.last?.opening.object == nil)
        #expect(router.lastOpens.last?.opening.parameters.objects.isEmpty == true)
    }

    @Test func `a page may be the native value of its open`() async throws {
        struct Page: RoutablePage, Decodable {
            var id: Int
            var object: (any Sendable)? { self }
        }
        let router = Router()
        try router.register([Route("app://page/:id", to: Page.self)])
        #expect(await router.open("app://page/7").object(as: Page.self)?.id == 7)
    }

    @Test func `the failure handler gets the parameters of a call that no route took`() async throws {
        let router = try recordingRouter([("app://x", "X")])
        let failed = Guarded<[Opening]>([])
        router.onFailure { opening in failed.withLock { $0.append(opening) } }
        _ = await router.open("app://none?a=1", parameters: ["b": 2])
        #expect(failed.withLock { $0.first?.parameters.merged } == ["a": "1", "b": 2])
    }

    @Test func `a transition for one call reaches the navigator`() async throws {
        final class Animated: Navigator {
            let seen = Guarded<[String]>([])
            func show(_ screen: Screen) async throws -> JSONValue? { nil }
            func show(_ screen: Screen, objects: [String: any Sendable]) async throws -> JSONValue? {
                let transition = objects["transition"] as? @Sendable (String) -> String
                seen.withLock { $0.append(transition?(screen.name) ?? "plain") }
                return nil
            }
        }
        let navigator = Animated()
        let router = Router()
        try router.register(.page("app://a", name: "A", in: navigator))
        let transition: @Sendable (String) -> String = { "\($0) fades in" }
        _ = await router.open("app://a", objects: ["transition": transition])
        _ = await router.open("app://a")
        #expect(navigator.seen.withLock { $0 } == ["A fades in", "plain"])
    }
}
