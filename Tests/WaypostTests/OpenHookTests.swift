import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Hooks before an open` {
    @Test func `a hook is asked once for each open, also for what no route matches`() async throws {
        let router = try recordingRouter([("app://a", "A"), ("app://b", "B")])
        let seen = Guarded<[String]>([])
        let handle = router.willOpen { open in
            seen.withLock { $0.append(open.url) }
            return .proceed
        }
        try router.relocate([
            RelocationLayer(
                name: "m", entries: [RelocationEntry(.replace(origin: "app://a", target: "app://b"))])
        ])
        let service = "scheme://services?protocol=P&method=m"
        let urls = [
            "app://a", "app://none", "%00", "evil://x", service,
            "app://none?route_fallback_url=app%3A%2F%2Fb",
        ]
        for url in urls { _ = await router.open(url) }
        #expect(seen.withLock { $0 } == urls)
        handle.cancel()
        _ = await router.open("app://a")
        #expect(seen.withLock { $0.count } == urls.count)
    }

    @Test func `a hook sends the open to another URL, or stops it with a reason`() async throws {
        let router = try recordingRouter([("app://a", "A"), ("app://b", "B")])
        let events = Guarded<[String]>([])
        router.observe { event in events.withLock { $0.append("\(event.kind) \(event.url)") } }
        router.willOpen("first") { open in
            open.url.hasPrefix("app://old") ? .open("app://a?x=1") : .proceed
        }
        router.willOpen("second") { open in
            open.url.contains("stop") ? .stop(reason: "enough") : .proceed
        }
        let opening = await router.open("app://old", parameters: ["y": 2])
        #expect(opening.route == "app://a")
        #expect(opening.requested == "app://old")
        #expect(opening.hops == ["app://a?x=1"])
        #expect(opening.value?["params"] == ["x": "1", "y": 2])
        let stopped = await router.open("app://stop")
        #expect(stopped.outcome == .intercepted(by: "second", reason: "enough"))
        #expect(
            events.withLock { $0 } == [
                "willOpen app://old", "redirected app://a?x=1", "opened app://a?x=1", "willOpen app://stop",
                "intercepted app://stop",
            ])
    }

    @Test func `a hook leads only where an open may, and never from a page to a call`() async throws {
        let router = try recordingRouter([("app://a", "A")])
        let target = Guarded("")
        router.willOpen { _ in .open(target.withLock { $0 }) }
        for (url, code) in [
            ("evil://x", Code.notAllowed), ("scheme://services?protocol=P&method=m", .notAllowed),
            ("%00", .badField), ("app://none", .noRoute),
        ] {
            target.withLock { $0 = url }
            #expect(await router.open("app://a").code == code, "\(url)")
        }
        target.withLock { $0 = "scheme://services?protocol=P&method=other" }
        #expect(await router.open("scheme://services?protocol=P&method=m").code == .noService)
        target.withLock { $0 = "app://a" }
        #expect(await router.open("scheme://services?protocol=P&method=m").isSuccess)
    }

    @Test func `a hook that takes too long ends the open with a deadline`() async throws {
        let router = try recordingRouter([("app://a", "A")])
        let gate = Gate()
        router.willOpen("slow", deadline: .milliseconds(5)) { _ in
            await gate.wait()
            return .proceed
        }
        let opening = await router.open("app://a")
        #expect(opening.code == .deadline)
        #expect(opening.detail.contains("slow"))
        gate.open()
    }

    @Test func `a hook that opens URLs itself comes to an end`() async throws {
        let router = try recordingRouter([("app://a", "A")])
        let codes = Guarded<[Code]>([])
        router.willOpen { _ in
            let nested = await router.open("app://a").code
            codes.withLock { $0.append(nested) }
            return .proceed
        }
        #expect(await router.open("app://a").isSuccess)
        #expect(codes.withLock { $0.first } == .chain)
    }
}
