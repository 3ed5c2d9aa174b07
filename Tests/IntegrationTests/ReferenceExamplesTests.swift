import CommandSupport
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// The examples that TheRouter's documents give, sent word for word through a real broker.
@Suite(.aFewAtATime) struct `The reference documents' examples` {
    @Test func `a redirect sent down takes effect, is undone, and a wrong path is repaired`() async throws {
        let broker = try await TestBroker.start()
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        let backend = try await Backend(broker: broker.url)
        let patch = "waypost/v1/k1/map/patch"
        let applied = "waypost/v1/k1/map/applied"

        var seen = 0
        // White screen first.
        var reply = try await backend.command(
            #"{"id":"r1","type":"open","url":"scheme://router/demo?desc=跳转白色界面"}"#, to: "k1")
        #expect(reply.code == .ok)
        #expect(reply.result["route"] == "scheme://router/demo")

        // The redirect to the yellow one.
        try await backend.publish(
            #"{"routerType": 1, "targetPath": "scheme://router/demo1", "orginPath": "scheme://router/demo"}"#,
            to: patch)
        _ = try await backend.message(on: applied) { $0["entries"]?.intValue == 1 }
        reply = try await backend.command(
            #"{"id":"r2","type":"open","url":"scheme://router/demo?desc=跳转白色界面被重定向到了黄色界面"}"#, to: "k1")
        #expect(reply.code == .ok)
        #expect(reply.result["route"] == "scheme://router/demo1")
        #expect(reply.result["hops"]?.arrayValue?.isEmpty == false)

        // Restored.
        seen = backend.seen.count
        try await backend.publish(
            #"{"routerType": 4, "targetPath": "scheme://router/demo", "orginPath": "scheme://router/demo"}"#,
            to: patch)
        _ = try await backend.message(on: applied, after: seen)
        reply = try await backend.command(
            #"{"id":"r3","type":"open","url":"scheme://router/demo?desc=又恢复到跳转白色界面"}"#, to: "k1")
        #expect(reply.result["route"] == "scheme://router/demo")

        // demo33 was written where demo3 was meant.
        reply = try await backend.command(
            #"{"id":"r4","type":"open","url":"scheme://router/demo33"}"#, to: "k1")
        #expect(reply.code == .noRoute)
        #expect(reply.nearest.contains("scheme://router/demo3"))
        seen = backend.seen.count
        try await backend.publish(
            #"{"routerType": 2, "className": "TheRouter_Example.TheRouterControllerC", "path": "scheme://router/demo33"}"#,
            to: patch)
        _ = try await backend.message(on: applied, after: seen)
        reply = try await backend.command(
            #"{"id":"r5","type":"open","url":"scheme://router/demo33"}"#, to: "k1")
        #expect(reply.code == .ok)
        #expect(reply.result["route"] == "scheme://router/demo33")

        // And a path is taken away.
        seen = backend.seen.count
        try await backend.publish(#"[{"routerType": 3, "path": "scheme://router/demo2Android"}]"#, to: patch)
        _ = try await backend.message(on: applied, after: seen)
        reply = try await backend.command(
            #"{"id":"r6","type":"open","url":"scheme://router/demo2Android"}"#, to: "k1")
        #expect(reply.code == .noRoute)
        reply = try await backend.command(
            #"{"id":"r7","type":"open","url":"scheme://router/demo2"}"#, to: "k1")
        #expect(reply.code == .ok)

        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    @Test func `the service URL with ivar1 calls the service`() async throws {
        let broker = try await TestBroker.start()
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        let backend = try await Backend(broker: broker.url)
        let reply = try await backend.command(
            #"""
            {"id":"s1","type":"open","params":{"ivar1":{"key":"value"}},
             "url":"scheme://services?protocol=AppConfigServiceProtocol&method=openMiniProgramWithInfo:&resultType=0"}
            """#, to: "k1")
        #expect(reply.code == .ok, "\(reply)")
        let byName = try await backend.command(
            #"{"id":"s2","type":"call","service":"AppConfigServiceProtocol","method":"openMiniProgram","args":{"info":{"key":"value"}}}"#,
            to: "k1")
        #expect(byName.code == .ok, "\(byName)")
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }
}
