import CommandSupport
import Foundation
import TestSupport
import Testing

/// `waypost agent --metrics`: what a scraper gets.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct MetricsTests {
    @Test func `counters and timers are shown as Prometheus reads them`() async throws {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let port = try FreePort.find()
        let agent = try AgentProcess(
            "k1", broker: broker.url, arguments: ["--demo", "--metrics", "127.0.0.1:\(port)"])
        try await agent.online()
        _ = try await backend.command(#"{"id":"a","type":"open","url":"scheme://router/demo"}"#, to: "k1")
        _ = try await backend.command(#"{"id":"b","type":"open","url":"scheme://router/nowhere"}"#, to: "k1")

        // Counters follow every two seconds.
        var lines: [String] = []
        for _ in 0..<200 where !lines.contains(#"waypost_commands_total{agent="k1",status="rejected"} 1"#) {
            lines = try await get("/metrics", port)
        }
        #expect(lines.contains(#"waypost_commands_total{agent="k1",status="ok"} 1"#), "\(lines)")
        #expect(lines.contains(#"waypost_commands_total{agent="k1",status="rejected"} 1"#))
        #expect(lines.contains(#"waypost_online{agent="k1"} 1"#))
        #expect(lines.contains(#"waypost_handler_seconds_count{agent="k1"} 2"#))
        #expect(lines.contains("# TYPE waypost_commit_seconds histogram"))

        let line =
            /(# HELP [a-z_]+ .+)|(# TYPE [a-z_]+ (counter|gauge|histogram))|([a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? ([0-9.eE+-]+|NaN))/
        let body = lines.drop { !$0.hasPrefix("#") }
        for text in body where !text.isEmpty { #expect(text.wholeMatch(of: line) != nil, "\(text)") }

        // Each says what it is, in the scraper and in the guide.
        func names(_ kind: String) -> [String] {
            lines.filter { $0.hasPrefix("# \(kind) ") }.map { String($0.split(separator: " ")[2]) }
        }
        #expect(names("TYPE") == names("HELP") && names("TYPE").count > 15)
        let guide = try String(
            contentsOfFile: "Sources/WaypostAgent/WaypostAgent.docc/Operating.md", encoding: .utf8)
        #expect(names("TYPE").filter { !guide.contains("`\($0)") } == [])

        #expect(lines.contains(#"waypost_check{agent="k1",check="store"} 1"#))
        #expect(!lines.contains { $0.hasPrefix("waypost_map_revision") })
        try await backend.publish(
            #"{"rev":7,"entries":[]}"#, to: "waypost/v1/k1/map", retain: true)
        let revision = #"waypost_map_revision{agent="k1",layer="agent"}"#
        for _ in 0..<200 where !lines.contains("\(revision) 7") { lines = try await get("/metrics", port) }
        #expect(lines.contains("\(revision) 7"))
        // A document without a revision takes its place.
        try await backend.publish("[]", to: "waypost/v1/k1/map", retain: true)
        for _ in 0..<200 where !lines.contains("\(revision) NaN") { lines = try await get("/metrics", port) }
        #expect(lines.contains("\(revision) NaN"))

        #expect(try await get("/other", port).first == "HTTP/1.1 404 Not Found")
        #expect(try await get("/metrics", port, "POST").first == "HTTP/1.1 405 Method Not Allowed")
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    @Test
    func `clients that hold a thousand connections, or send a byte a second, do not keep a scraper out`()
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let port = try FreePort.find()
        let agent = try AgentProcess(
            "k1", broker: broker.url, arguments: ["--demo", "--metrics", "127.0.0.1:\(port)"])
        try await agent.online()
        let idle = try (0..<1_000).map { _ in try PlainSocket(port: port) }
        let slow = try (0..<40).map { _ in try PlainSocket(port: port) }
        for client in slow { client.send("GET /metrics HTTP/1.1\r\nX: ") }
        for _ in 0..<5 {
            #expect(try await get("/metrics", port).first == "HTTP/1.1 200 OK")
            for client in slow { client.send("y") }
        }
        // Whoever asks for too much is not listened to.
        let greedy = try PlainSocket(port: port)
        var accepted = 0
        while accepted < 10_000, greedy.send(String(repeating: "z", count: 1_024)) { accepted += 1 }
        #expect(accepted < 10_000)
        // A request that never ends is cut off, however lively it is.
        let drip = try PlainSocket(port: port)
        drip.send("GET /metrics HTTP/1.1\r\nX: ")
        try await eventually("the end of a request that never ends", within: .seconds(60)) {
            try await Task.sleep(for: .milliseconds(200))
            return !drip.send("y")
        }
        let descriptors = try FileManager.default.contentsOfDirectory(
            atPath: "/proc/\(agent.processID)/fd")
        #expect(descriptors.count < 100, "\(descriptors.count)")
        withExtendedLifetime((idle, slow)) {}
        #expect(try await agent.terminate() == 0)
    }

    @Test(arguments: ["9464", "127.0.0.1:x", "127.0.0.1:99999"])
    func `what is no address is refused`(_ address: String) async throws {
        let ending = try await RunningCommand.run(["agent", "--agent", "k1", "--metrics", address])
        #expect(ending.status == 64)
        #expect(ending.errorLines.first?.contains("HOST:PORT") == true)
    }

    /// The lines of an answer; nothing blocks, for a tool does the waiting.
    private func get(_ path: String, _ port: UInt16, _ method: String = "GET") async throws -> [String] {
        let script =
            "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(method) \(path) HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
        let ending = try await Tool.run("bash", ["-c", script])
        return ending.output.split(whereSeparator: \.isNewline).map(String.init)
    }
}
