import Logging
import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// A secret as a caller may send it, by every way in on which something can fail.
@Suite struct `Secrets` {
    private static let secret = "hunter2"

    private enum Color: String, Decodable, Sendable { case red }

    private struct Unlucky: RouteModule {
        let name = "Unlucky"
        func setUp() async throws {
            throw HandlerError(text: "connect to mqtt://me:\(Secrets.secret)@broker: refused")
        }
    }

    private struct HandlerError: Error, CustomStringConvertible {
        let text: String
        var description: String { text }
    }

    /// Keeps what the host's log would show.
    private struct RecordingHandler: LogHandler {
        let lines: TestSupport.EventLog<String>
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: Logging.LogEvent) { lines.append("\(event.message)") }
    }

    private func router() throws -> Router {
        let router = Router()
        try router.register("app://number") { request in
            _ = try request.parameters.value("id", as: Int.self)
            return .opened()
        }
        try router.register("app://color") { request in
            _ = try request.parameters.value("id", as: Color.self)
            return .opened()
        }
        try router.register("app://page") { _ in .opened() }
        try router.register("app://web") { _ in .opened() }
        try router.register("app://fixed?token=hunter2") { _ in .opened() }
        try router.register("app://throws") { request in
            throw HandlerError(text: "sign in at \(request.url.text) failed")
        }
        try router.register("app://stopped") { _ in .opened() }
        try router.intercept("guard", scope: .patterns(["app://stopped"])) { request in
            .stop(reason: "not for \(request.url.text)")
        }
        try router.services.expose(
            ExposedService("Calculator", instance: 1) {
                Exposed("add(a:b:)") { (_: Int, a: Int, b: Int) in a + b }
                Exposed("paint(color:)") { (_: Int, color: Color) in color.rawValue }
                Exposed("take(list:)") { (_: Int, list: [String: [Int]]) in list.count }
            })
        router.declare([Unlucky()])
        return router
    }

    private static let opens: [(url: String, params: JSONValue)] = [
        ("app://none?password=hunter2", [:]), ("app://none", ["x": "hunter2"]),
        ("app://none?next=https%3A%2F%2Fme%3Ahunter2%40x", [:]), ("app://none#access_token=hunter2", [:]),
        ("app://none?n=x%253Fclient-secret%253Dhunter2", [:]), ("app://me:hunter2@none/x", [:]),
        ("app://number", ["id": "hunter2"]), ("app://number?api_key=hunter2", ["id": ["hunter2"]]),
        ("app://color", ["id": "hunter2"]), ("app://page", ["jumpType": "hunter2"]),
        ("app://page", ["tabBarSelecIndex": "hunter2", "route_no_animation": "hunter2"]),
        ("app://page?password=hunter2", [:]), ("app://throws?sessionToken=hunter2", [:]),
        ("app://stopped?authorization=Bearer%20hunter2", [:]), ("evil://me:hunter2@x?apikey=hunter2", [:]),
        ("https://hunter2@a@b?x_secret=hunter2", [:]), ("app://a\\b?Cookie=hunter2", [:]),
        ("app://none", ["route_fallback_url": "app://lost?token=hunter2"]),
        ("app://old?token=hunter2", [:]), ("app://circle?token=hunter2", [:]),
        (
            "scheme://services?protocol=Calculator&method=add&password=hunter2",
            ["ivar1": "hunter2", "ivar2": "hunter2"]
        ),
        ("scheme://services?protocol=Calculator&method=add", ["ivar1": "hunter2", "resultType": 0]),
        ("scheme://services?protocol=Calculator&method=add", ["resultType": "hunter2"]),
        ("scheme://services?method=add&password=hunter2", [:]),
    ]

    private static let calls: [(service: String, method: String, arguments: JSONValue)] = [
        ("Calculator", "add", ["hunter2", 1]), ("Calculator", "add", ["a": 1, "b": "hunter2"]),
        ("Calculator", "add", ["hunter2", "hunter2", "hunter2"]), ("Calculator", "add", ["c": "hunter2"]),
        ("Calculator", "paint", ["hunter2"]), ("Calculator", "take", [["x": ["hunter2"]]]),
        ("Calculator", "take", ["list": "hunter2"]), ("Calculator", "add", "hunter2"),
        ("None", "add", ["hunter2"]), ("Calculator", "none", ["hunter2"]),
    ]

    private static let others = [
        #"{"id":"o1","type":"open","url":"app://page","params":"hunter2"}"#,
        #"{"id":"o2","type":"open","url":["hunter2"]}"#,
        #"{"id":"o3","type":"cancel","target":"hunter2 hunter2"}"#,
        #"{"id":"o4","type":"log","level":"i","for":"hunter2"}"#,
        #"{"id":"o5","type":"ping","lane":"hunter2 hunter2"}"#,
        #"{"id":"o6","type":"ping","trace":"hunter2"}"#, #"{"id":"hunter2 hunter2","type":"ping"}"#,
        #"{"id":"o7","type":"open","url":"app://page","params":{"a":"hunter2","a":1}}"#,
        #"{"id":"o8","type":"open","url":"app://page","params":{"a":"hunter2"}"#, #"["hunter2"]"#, "hunter2",
        #"{"id":"o9","type":"open","url":"app://page","exp":1,"params":{"a":"hunter2"}}"#,
        #"{"id":"o10","type":"ping","v":2,"password":"hunter2"}"#,
    ]

    private static let maps = [
        #"{"type":"map","rev":1,"entries":[{"routerType":1,"orginPath":"app://old","targetPath":"app://page?token=hunter2"},{"routerType":1,"orginPath":"app://web","targetPath":"gone://me:hunter2@x?password=hunter2"}]}"#,
        #"{"type":"map","rev":2,"entries":[{"routerType":1,"orginPath":"app://a?token=hunter2","targetPath":"app://b?token=hunter2"},{"routerType":1,"orginPath":"app://b","targetPath":"app://a"}]}"#,
        #"{"type":"map","rev":3,"entries":[{"routerType":1,"orginPath":"app://a","targetPath":"https://hunter2@b@c?token=hunter2"}]}"#,
        #"{"type":"map","rev":4,"entries":[{"routerType":1,"orginPath":"app://a","targetPath":"app://b","params":"hunter2"}]}"#,
    ]

    @Test func `a secret that came in is in nothing that goes out`() async throws {
        let lines = TestSupport.EventLog<String>()
        let harness = try await AgentHarness(
            router: router(), logger: Logger(label: "test") { _ in RecordingHandler(lines: lines) }
        ) { $0.limits.intakeRate = 0 }
        for map in Self.maps { harness.receive(map, on: "waypost/v1/k1/map") }
        var commands = Self.opens.enumerated().map { index, open -> JSONValue in
            ["id": .string("u\(index)"), "type": "open", "url": .string(open.url), "params": open.params]
        }
        commands += Self.calls.enumerated().map { index, call -> JSONValue in
            [
                "id": .string("c\(index)"), "type": "call", "service": .string(call.service),
                "method": .string(call.method), "args": call.arguments,
            ]
        }
        for text in commands.map(\.text) + Self.others { harness.receive(text, on: "waypost/v1/k1/cmd/me") }
        harness.receive(
            #"{"id":"r","type":"ping","x":"hunter2"}"#, on: "waypost/v1/k1/cmd/me", retain: true)
        var properties = MQTTProperties()
        properties.responseTopic = "waypost/v1/k2/reply/x?password=hunter2"
        harness.receive(#"{"id":"p","type":"ping"}"#, on: "waypost/v1/k1/cmd/me", properties: properties)
        harness.receive("hunter2", on: "waypost/v1/k1/cmd/a?token=hunter2")
        Logger(label: "Host") { harness.agent.logHandler(label: $0) }
            .error("cookie: hunter2", metadata: ["token": "hunter2", "url": "https://hunter2@x"])
        harness.agent.logger.error("connecting to mqtts://me:hunter2@broker")

        var hops: [JSONValue] = []
        for command in commands {
            let reply = try await harness.reply(to: command["id"]?.stringValue ?? "")
            hops += reply.result["hops"]?.arrayValue ?? []
        }
        // The redirect of the map was followed.
        #expect(hops == ["app://page?token=***"])
        for number in 1...6 { _ = try await harness.reply(to: "o\(number)") }
        #expect(harness.check("modules") == false)
        harness.agent.publishDocuments()
        try await harness.close()
        #expect(harness.published.events.count > commands.count * 2)
        for message in harness.published.events {
            let text =
                message.topic + String(decoding: message.payload, as: UTF8.self)
                + message.properties.user.map { $0.name + $0.value }.joined()
            #expect(!text.contains(Self.secret), "\(text)")
        }
        #expect(lines.events.contains { $0.contains("mqtts://***@broker") })
        for line in lines.events { #expect(!line.contains(Self.secret)) }
    }

    // MARK: Values that are no secrets

    private static let plain = "Kowalski"

    private static let plainOpens: [(url: String, params: JSONValue)] = [
        ("app://page?name=Kowalski", [:]), ("app://page?name=Anna Kowalski&x=1#Kowalski", [:]),
        ("app://none?name=Anna Kowalski", ["x": "Kowalski"]), ("app://none#n=Kowalski", [:]),
        ("app://none?next=https%3A%2F%2Fx%3Fname%3DKowalski", [:]),
        ("app://none?{\"name\":\"Kowalski\"}", [:]),
        ("app://none?name=Tom&Kowalski", [:]), ("app://old?name=Kowalski", [:]),
        ("app://none?route_fallback_url=app://lost?name=Kowalski", [:]),
        ("app://none?route_fallback_url=app://page?name=Kowalski", [:]),
        ("app://circle?name=Kowalski", [:]), ("app://to-service?name=Kowalski", [:]),
        ("app://cancels?name=Kowalski", [:]),
        ("app://page?jumpType=Kowalski", [:]), ("app://number?id=Kowalski", [:]),
        ("app://a\\b?name=Kowalski", [:]), ("evil://x?name=Kowalski", [:]),
        ("scheme://services?protocol=Calculator&method=add&ivar1=1&ivar2=2&name=Kowalski", [:]),
        ("scheme://services?protocol=Calculator&method=add&ivar1=Kowalski&ivar2=2", [:]),
        ("scheme://services?protocol=Calculator&method=paint&ivar1=Kowalski", [:]),
        ("scheme://services?protocol=None&method=add&ivar_1=Kowalski", [:]),
        ("scheme://services?protocol=Calculator&name=Kowalski", [:]),
    ]

    private static let plainMaps = [
        #"{"type":"map","rev":1,"entries":[{"routerType":1,"orginPath":"app://a?n=Kowalski","targetPath":"app://b?n=Kowalski"},{"routerType":1,"orginPath":"app://b","targetPath":"app://a"}]}"#,
        #"{"type":"map","rev":2,"entries":[{"routerType":1,"orginPath":"app://a","targetPath":"scheme://services?n=Kowalski"}]}"#,
        #"{"type":"map","rev":3,"entries":[{"routerType":1,"orginPath":"app://a?n=Kowalski","targetPath":"app://b"},{"routerType":1,"orginPath":"app://a?n=Kowalski","targetPath":"app://c"}]}"#,
        #"{"type":"map","rev":4,"entries":[{"routerType":1,"orginPath":"app://a","targetPath":"app://b/../c?n=Kowalski"}]}"#,
        #"{"type":"map","rev":5,"entries":[{"routerType":1,"orginPath":"app://a","targetPath":"app://b","params":["Kowalski"]}]}"#,
        #"{"type":"map","rev":6,"entries":[{"routerType":1,"orginPath":"app://old","targetPath":"app://page?n=Kowalski","params":{"n":"Kowalski"}},{"routerType":1,"orginPath":"app://web","targetPath":"gone://x?n=Kowalski"},{"routerType":1,"orginPath":"app://number/x","targetPath":"app://nowhere?n=Kowalski"}]}"#,
    ]

    @Test func `a value of a parameter is in no detail, no report and no event above V`() async throws {
        let router = try router()
        try router.register("app://circle", redirect: { _ in "app://circle?name=Kowalski" }) { _ in .opened()
        }
        try router.register("app://cancels") { _ in throw CancellationError() }
        try router.intercept("service", scope: .patterns(["app://to-service"])) { _ in
            .redirect(to: "scheme://services?protocol=Calculator&method=add&name=Kowalski")
        }
        try router.register("app://to-service") { _ in .opened() }
        let harness = try await AgentHarness(router: router) {
            $0.limits.intakeRate = 0
            $0.limits.mapRate = 0
        }
        for map in Self.plainMaps { harness.receive(map, on: "waypost/v1/k1/map") }
        for (index, open) in Self.plainOpens.enumerated() {
            let command: JSONValue = [
                "id": .string("u\(index)"), "type": "open", "url": .string(open.url), "params": open.params,
            ]
            let reply = try await harness.command(command.text)
            #expect(reply.detail?.contains(Self.plain) != true, "\(reply)")
            // What an open returns is for its sender; an argument of a call is not needed there.
            if open.url.hasPrefix("scheme://services") {
                #expect(!reply.result.text.contains(Self.plain), "\(reply)")
            }
        }
        #expect(harness.agent.maps.applied.inactive.count == 2)
        #expect(
            try await harness.command(#"{"id":"q","type":"open","url":"app://page?a=1"}"#).result["url"]
                == "app://page?a=1")
        harness.agent.publishDocuments()
        try await harness.close()
        let opened = try await harness.event { $0.message == "opened app://page?name=***&x=***#***" }
        #expect(opened.url == "app://page?name=***&x=***#***")
        for message in harness.published.events where !message.topic.contains("/reply/") {
            let text = String(decoding: message.payload, as: UTF8.self)
            #expect(!text.contains(Self.plain), "\(message.topic) \(text)")
        }
    }

    @Test func `a value of a parameter is in the events of level V, where it is wanted`() async throws {
        let harness = try await AgentHarness(router: router()) { $0.logLevel = "v" }
        _ = try await harness.command(
            #"{"id":"c","type":"open","url":"app://page?name=Kowalski&token=hunter2"}"#)
        let event = try await harness.event { $0.level == .verbose && $0.message.hasPrefix("will open") }
        #expect(event.url == "app://page?name=Kowalski&token=***")
        #expect(event.message == "will open app://page?name=Kowalski&token=***")
        try await harness.close()
    }
}
