import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// What the doctor and the list say of agents that are not well, each by what it has left at the broker.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `Agents that are not well` {
    private static let now = Int64(Date().timeIntervalSince1970 * 1_000)

    private static func state(_ state: String, _ why: String, last: String = "null") -> String {
        #"{"state":"\#(state)","epoch":1,"boot":"7ZK3M9QA","why":"\#(why)","agent":"a","version":"0.1.0","mqtt":5,"at":\#(now),"last":\#(last)}"#
    }

    private static func health(_ status: String, _ checks: String = "") -> String {
        #"{"type":"health","agent":"a","epoch":1,"version":"0.1.0","at":\#(now),"status":"\#(status)","mqtt":5,"checks":[\#(checks)]}"#
    }

    private static let cycle =
        #"{"layers":[],"entries":0,"inactive":[],"refused":{"layer":"@lobby","rev":11,"digest":"x","code":422,"name":"CYCLE","detail":"a → b → a","at":1}}"#

    private static let unsigned =
        #"{"layers":[],"entries":0,"inactive":[],"refused":{"layer":"agent","rev":3,"digest":"x","code":401,"name":"UNSIGNED","detail":"no signature","at":1}}"#

    private func site() async throws -> (broker: TestBroker, backend: Backend) {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let documents: [(String, String, String)] = [
            ("c1", "state", Self.state("online", "birth")), ("c1", "health", Self.health("green")),
            ("c1", "map/applied", Self.cycle),
            ("c2", "state", Self.state("online", "birth")), ("c2", "health", Self.health("green")),
            ("c2", "map/applied", Self.cycle),
            ("u1", "state", Self.state("online", "birth")), ("u1", "health", Self.health("green")),
            ("u1", "map/applied", Self.unsigned),
            (
                "d1", "state",
                Self.state(
                    "offline", "will",
                    last: #"{"code":503,"name":"DISK","detail":"no space left on the device","at":1}"#)
            ), ("d1", "health", Self.health("green")),
            ("l1", "state", Self.state("offline", "will")), ("l1", "health", Self.health("green")),
            (
                "s1", "state",
                Self.state("offline", "shutdown", last: #"{"detail":"stopped by SIGTERM","at":1}"#)
            ),
            ("r1", "state", Self.state("online", "birth")),
            (
                "r1", "health",
                Self.health(
                    "red",
                    #"{"name":"subscriptions","state":"failed","ok":false,"since":1,"detail":"refused: x","advice":"let the agent read x"}"#
                )
            ),
            ("n1", "state", Self.state("online", "birth")),
            (
                "n1", "health",
                Self.health(
                    "unknown",
                    #"{"name":"commands","state":"unknown","ok":true,"since":1,"detail":"the agent may not write commands","advice":"waypost ping"}"#
                )
            ),
        ]
        for (agent, topic, payload) in documents {
            try await backend.publish(payload, to: "waypost/v1/\(agent)/\(topic)", retain: true)
        }
        return (broker, backend)
    }

    @Test func `the doctor says where a session is kept for less than is needed`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let (hour, day) = (3_600, 86_400)
        for (agent, limits) in [
            ("granted", #""sessionExpiry":\#(hour),"sessionExpiryAsked":\#(day),"commandLife":\#(day)"#),
            ("shorter", #""sessionExpiry":\#(day),"commandLife":\#(10 * day)"#),
            ("enough", #""sessionExpiry":\#(day),"commandLife":\#(day)"#), ("old", ""),
            ("odd", #""sessionExpiry":1,"commandLife":9223372036854775807"#),
        ] {
            let health =
                #"{"type":"health","agent":"\#(agent)","epoch":1,"version":"0.1.0","at":\#(Self.now),"status":"green","mqtt":5,"checks":[],"limits":{\#(limits)}}"#
            try await backend.publish(
                Self.state("online", "birth"), to: "waypost/v1/\(agent)/state", retain: true)
            try await backend.publish(health, to: "waypost/v1/\(agent)/health", retain: true)
        }
        let ending = try await RunningCommand.run(
            ["doctor", "--wait", "2s", "--broker", broker.url, "--json"])
        let found = try ending.output.map { try JSONValue(parsing: $0) }.filter {
            $0["found"]?.stringValue?.contains("session is kept") == true
                || $0["found"]?.stringValue?.contains("keeps its session") == true
        }
        let texts = found.map { "\($0["agent"]?.stringValue ?? "?"): \($0["found"]?.stringValue ?? "?")" }
            .sorted()
        #expect(texts.count == 3 && texts[1].hasPrefix("odd: its session is kept for 1 s, "), "\(ending)")
        #expect(
            texts.first
                == "granted: the broker keeps its session for 60 min, and it asks for 24 h (session-expiry)")
        #expect(
            texts.last
                == "shorter: its session is kept for 24 h, and its commands may wait for 10 d (command-life)")
        #expect(found.allSatisfy { $0["status"] == "warning" })
    }

    @Test func `the doctor counts, shows the worst first, and one fault of several agents once`() async throws
    {
        let (broker, backend) = try await site()
        defer { broker.end() }
        let ending = try await RunningCommand.run(["doctor", "--wait", "5s", "--broker", broker.url])
        #expect(ending.status == 1)
        let lines = ending.output
        let marks = ["failed", "warning", "not known", "ok", "note"]
        let order = lines.compactMap { line in marks.firstIndex { line.hasPrefix($0 + " ") } }
        #expect(order == order.sorted() && Set(order).count >= 4, "\(ending)")
        // The circle, the missing signature, two that are lost, the subscription, and the ping without an answer.
        #expect(lines.first?.hasPrefix("6 failed, ") == true, "\(ending)")
        func line(_ text: String) throws -> (String, advice: String) {
            let index = try #require(lines.firstIndex { $0.contains(text) }, "\(text): \(ending)")
            return (lines[index], index + 1 < lines.count ? lines[index + 1] : "")
        }
        #expect(try line("c1, c2: @lobby rev 11 refused: CYCLE").advice.contains("remove one of them"))
        #expect(lines.count { $0.contains("CYCLE") } == 1)
        #expect(try line("u1: rev 3 refused: UNSIGNED").advice.contains("sign it"))
        #expect(try line("d1 (last heard of").0.contains("503 DISK: no space left on the device"))
        #expect(try line("d1 (last heard of").advice.contains("disk space"))
        #expect(try line("l1 (last heard of").0.hasPrefix("failed "))
        #expect(try line("s1 (").0.contains("shut down: stopped by SIGTERM"))
        #expect(try line("s1 (").0.hasPrefix("note "))
        #expect(try line("r1: subscriptions: refused: x").advice.hasSuffix("let the agent read x"))
        #expect(try line("n1: commands: not known: ").0.hasPrefix("not known "))
        for word in ["guide", "page"] { #expect(!lines.joined().contains(word)) }
        let json = try await RunningCommand.run(["doctor", "--json", "--wait", "5s", "--broker", broker.url])
        let findings = try json.output.map { try JSONValue(parsing: $0) }
        let circles = findings.filter { $0["found"]?.stringValue?.contains("CYCLE") == true }
        #expect(circles.compactMap { $0["agent"]?.stringValue } == ["c1", "c2"])
        await backend.disconnect()
    }

    // It was asked for ten seconds, and then the rules of a topic had the blame.
    @Test func `of an agent that is known to be gone nothing is asked, and no rule is blamed`() async throws {
        let (broker, backend) = try await site()
        defer { broker.end() }
        for (agent, text) in [("l1", "its connection was lost"), ("s1", "shut down")] {
            let ending = try await RunningCommand.run(["doctor", "--agent", agent, "--broker", broker.url])
            #expect(ending.output.contains { $0.contains(text) }, "\(ending)")
            for wrong in ["does not answer", "reply/"] {
                #expect(!ending.output.contains { $0.contains(wrong) }, "\(ending)")
            }
        }
        let page = try await RunningCommand.run(["describe", "agent", "l1", "--broker", broker.url])
        #expect(page.output.contains { $0.contains("waypost doctor --local") }, "\(page)")
        await backend.disconnect()
    }

    @Test func `the list says why an agent is away, and what is not known of one that is there`() async throws
    {
        let (broker, backend) = try await site()
        defer { broker.end() }
        let lines = try await RunningCommand.run(["agents", "--broker", broker.url]).output
        func row(_ agent: String) throws -> String { try #require(lines.first { $0.hasPrefix(agent + " ") }) }
        #expect(try row("d1").contains("503 DISK: no space left on the device"))
        #expect(try row("s1").contains("stopped by SIGTERM"))
        #expect(try row("n1").contains("commands: not known: the agent may not write commands"))
        #expect(try !row("n1").contains("green"))
        await backend.disconnect()
    }
}
