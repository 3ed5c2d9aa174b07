import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// Commands of programs on the agent's machine, past the broker.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct LocalTests {
    private let url = "scheme://router/demo?id=2"

    @Test func `open and call reach the agent of this machine, whatever broker there is`() async throws {
        let site = try await Site.open(["--demo"])
        let state = site.agent.directory
        func run(_ arguments: String...) async throws -> RunningCommand.Ending {
            try await RunningCommand.run(arguments, environment: ["WAYPOST_BROKER": "mqtt://127.0.0.1:1"])
        }
        let opened = try await run("open", url, "--local", "--state", state)
        #expect(opened.status == 0 && opened.output.first?.hasPrefix("ok: the agent (") == true, "\(opened)")
        let sum = try await run(
            "call", "CalculatorService", "add", "--args", "[2,3]", "--local", "--state", state, "--agent",
            "k1",
            "--json")
        let json = try JSONValue(parsing: sum.output.joined())
        #expect(sum.status == 0 && json["result"] == 5 && json["agent"] == "k1", "\(sum)")
        let missing = try await run("open", "scheme://router/none", "--local", "--state", state)
        #expect(missing.status == 1 && missing.output.first?.contains("404 NO_ROUTE") == true, "\(missing)")
        let mode = try FileManager.default.attributesOfItem(atPath: state + "/commands.sock")[
            .posixPermissions]
        #expect(mode as? Int == 0o600)
        let stopped = try await run("open", url, "--local", "--state", state + "/none")
        #expect(stopped.status == 3 && stopped.errorLines.last?.contains("no agent answers in") == true)
        let idle = try (0..<200).map { _ in try PlainSocket(unix: state, "commands.sock") }
        let beside = try await run("open", url, "--local", "--state", state)
        #expect(beside.status == 0, "\(beside)")
        withExtendedLifetime(idle) {}
    }

    @Test(arguments: [
        (["--local", "--group", "lobby"], "not a group"), (["--state", "/tmp"], "--state needs --local"),
        (["--local"], "--local needs the agent's name"),
    ])
    func `what can't be is one sentence`(options: [String], text: String) async throws {
        let run = try await RunningCommand.run(["open", url] + options, environment: [:])
        #expect(run.status == 64 && run.errorLines.joined().contains(text), "\(run)")
    }

    @Test func `a page of an allowed origin with the token may, and no other`() async throws {
        let (port, token) = (try FreePort.find(), "0123456789abcdef0123456789abcdef")
        let file = NSTemporaryDirectory() + "waypost-token-\(UUID().uuidString)"
        try Data("\(token)\n".utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let site = try await Site.open([
            "--demo", "--local-port", "\(port)", "--local-token-file", file, "--local-origin",
            "https://kiosk.example",
        ])
        let open = #"{"type":"open","url":"scheme://router/demo?id=2"}"#
        func ask(
            _ method: String = "POST", _ path: String = "/command", host: String? = nil,
            origin: String? = "https://kiosk.example", token: String? = token, body: String = open,
            more: String = ""
        ) throws -> String {
            let socket = try PlainSocket(port: UInt16(port))
            var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n"
            if let origin { head += "Origin: \(origin)\r\n" }
            if let token { head += "Authorization: Bearer \(token)\r\n" }
            head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\(more)\r\n"
            socket.send(head)
            socket.send(body)
            var answer: [UInt8] = []
            while case let bytes = socket.read(), !bytes.isEmpty { answer += bytes }
            return String(decoding: answer, as: UTF8.self)
        }
        let answer = try ask()
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.contains(#""status":"ok""#), "\(answer)")
        #expect(answer.contains("\r\nAccess-Control-Allow-Origin: https://kiosk.example\r\n"))
        #expect(try ask(origin: nil).hasPrefix("HTTP/1.1 200 "))
        #expect(try ask("OPTIONS", token: nil, body: "").hasPrefix("HTTP/1.1 204 "))
        for (wrong, status) in [
            (try ask(token: nil), 401), (try ask(token: "no"), 401), (try ask(token: token + "0"), 401),
            (try ask(origin: "https://evil.example"), 403), (try ask(origin: "null"), 403),
            (try ask(host: "evil.example:\(port)"), 403), (try ask(more: "Host: evil.example\r\n"), 403),
            (try ask("GET"), 405), (try ask("POST", "/"), 404), (try ask(body: "nonsense"), 400),
            (try ask(body: #"{"type":"log","level":"v","for":1}"#), 400),
            (try ask(body: #"{"type":"cancel","target":"x"}"#), 400),
        ] {
            #expect(wrong.hasPrefix("HTTP/1.1 \(status) "), "\(wrong)")
            #expect(status != 403 || !wrong.contains("Access-Control-Allow-Origin: https://evil"))
        }
        // Ten thousand connections: places are few, and who asks is answered.
        for _ in 0..<20 {
            let idle = try (0..<500).map { _ in try PlainSocket(port: UInt16(port)) }
            #expect(try ask().hasPrefix("HTTP/1.1 200 "))
            withExtendedLifetime(idle) {}
        }
        #expect(try await site.agent.terminate() == 0)
    }

    @Test(arguments: [
        (["--local-port", "8123"], "local-port needs local-token-file"),
        (["--local-port", "70000", "--local-token-file", "/dev/null"], "must be 1 to 65535"),
        (["--local-origin", "https://a.example"], "need local-port"),
        (
            ["--local-port", "8123", "--local-token-file", "/dev/null", "--local-origin", "*"],
            "local-origin must be like"
        ),
    ])
    func `a door that would be open is refused`(options: [String], text: String) async throws {
        let run = try await RunningCommand.run(
            ["agent", "--agent", "k1", "--state", NSTemporaryDirectory() + "waypost-\(UUID().uuidString)"]
                + options,
            environment: [:])
        #expect(run.status == 64 && run.errorLines.joined().contains(text), "\(run)")
    }
}
