import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

@Suite struct `The AsyncAPI document` {
    @Test func `is whole, and its examples fit its schemas`() async throws {
        let run = try await PayloadCheck.run([])
        #expect(run.status == 0, "\(run.output)")
    }

    @Test func `has every reply and report that the encoders can write`() async throws {
        let time = TurnedClock.start
        var wire: [(String, [UInt8])] = []
        for code in Code.all where code.status != nil {
            let detail = code == .ok ? nil : "what was found"
            let reply = Reply(id: "c-1", code: code, at: time, detail: detail)
            wire.append(("waypost/v1/k1/reply/me", reply.encoded()))
            wire.append(("waypost/v1/k1/reply/me", Reply.duplicate(of: reply.encoded())))
        }
        wire.append(("waypost/v1/k1/reply/me", Reply.accepted(id: "c-1", attempt: 2, at: time).encoded()))
        for code in Code.all where code != .ok && code != .canceled {
            for origin in FailureReport.Origin.allCases {
                let report = FailureReport(
                    id: Identifier.ulid(at: time), code: code, origin: origin, ref: "c-1", url: "scheme://a",
                    detail: "what was found", nearest: code.number == 404 ? ["scheme://b"] : [], at: time)
                wire.append(("waypost/v1/k1/fail", report.encoded()))
            }
        }
        for level in LogLevel.allCases {
            let event = LogEvent(
                time: time, level: level, tag: "Router", boot: Identifier.boot(), sequence: 1, process: 1,
                thread: 2, message: "line\u{1}", url: "scheme://a", isError: level >= .error, ref: "c-1",
                dropped: 3)
            let lines = event.encoded() + [UInt8(ascii: "\n")] + event.encoded()
            wire.append(("waypost/v1/k1/log/\(level.topicLevel)", lines))
        }
        for reason in AgentState.Reason.allCases {
            let state = AgentState(
                isOnline: reason == .birth, epoch: 1, boot: Identifier.boot(), reason: reason, agent: "k1",
                version: Version.current, mqtt: 4,
                last: AgentState.Cause(reason == .will ? .disk : nil, "no space left", at: time))
            wire.append(("waypost/v1/k1/state", state.encoded()))
        }
        var applied = AppliedMap(
            layers: [.init(name: "@all", revision: nil, digest: "sha256:" + digest, at: time)],
            refused: .init(
                layer: "agent", revision: 3, digest: "sha256:" + digest, code: .cycle, detail: "a → a",
                at: time), nextPatch: .init(base: 3, revision: 4))
        applied.entries = 1
        applied.inactive = [.init(layer: "patch", index: 0, reason: "no such route")]
        applied.conditional = [.init(layer: "patch", index: 1, state: .depends, reason: "after 5")]
        wire.append(("waypost/v1/k1/map/applied", applied.encoded()))
        let run = try await PayloadCheck.run(wire)
        #expect(run.status == 0, "\(run.output)")
    }

    @Test func `describes what an agent publishes`() async throws {
        let router = Router()
        try router.register("scheme://router/demo", name: "Demo") { _ in .opened("white") }
        let harness = try await AgentHarness(router: router) { $0.logLevel = "v" }
        harness.agent.publishDocuments()
        for (id, fields) in [
            ("open", #""type":"open","url":"scheme://router/demo?id=2""#),
            ("lost", #""type":"open","url":"scheme://router/demoo""#),
            ("call", #""type":"call","service":"Nobody","method":"nothing""#),
            ("ping", #""type":"ping""#),
            ("level", #""type":"log","level":"d","for":1000"#),
            ("again", #""type":"replay","since":0"#),
            ("stop", #""type":"cancel","target":"open""#),
            ("past", #""type":"failures""#),
            ("way", #""type":"inspect","target":"open""#),
            ("dance", #""type":"dance""#),
        ] {
            _ = try await harness.command("{\"id\":\"\(id)\",\(fields)}")
        }
        harness.receive(
            #"{"rev":1,"entries":[{"routerType":3,"path":"scheme://gone"}]}"#, on: "waypost/v1/k1/map")
        _ = try await harness.applied { $0["layers"]?[0]?["rev"] == 1 }
        harness.receive(#"[{"routerType":9}]"#, on: "waypost/v1/k1/map/patch")
        _ = try await harness.failure { $0.origin == .map }
        harness.receive("open the door", on: "waypost/v1/k1/cmd/me")
        _ = try await harness.failure { $0.code == .badJSON }
        harness.agent.events.flush()
        _ = try await harness.event { $0.level == .error }

        let wire = harness.published.events.map { ($0.topic, $0.payload) }
        let run = try await PayloadCheck.run(wire)
        #expect(run.status == 0, "\(run.output)")
        for channel in ["applied", "events", "failures", "health", "replies", "routes"] {
            #expect(run.output.contains(" \(channel)"), "nothing was seen of \(channel)")
        }
    }

    private static let misfits = [
        ("state", #"{"state":"online","epoch":1}"#, "required"),
        (
            "reply/me",
            #"{"id":"c","type":"reply","status":"ok","code":404,"name":"NO_ROUTE","dup":false,"ms":1,"#
                + #""attempt":1,"at":5,"result":null}"#,
            "table of codes"
        ),
        (
            "log/e",
            #"{"t":1,"l":"I","tag":"A","boot":"7ZK3M9QA","seq":1,"pid":1,"tid":1,"msg":"","type":0}"#, "level"
        ),
        ("echo", #"{"boot":"7ZK3M9QA","nonce":"01KA8W0C6R2V0S5B6S0G0Y4T3N","extra":1}"#, "extra"),
        ("status", "{}", "no topic"),
    ]

    @Test func `finds what does not fit`() async throws {
        let wire = Self.misfits.map { ("waypost/v1/k1/\($0.0)", Array($0.1.utf8)) }
        let run = try await PayloadCheck.run(wire)
        #expect(run.status == 1)
        let lines = run.output.split(separator: "\n")
        for (topic, _, finding) in Self.misfits {
            #expect(
                lines.contains { $0.contains("/\(topic): ") && $0.contains(finding) }, "\(run.output)")
        }
    }

    private let digest = String(repeating: "0", count: 64)
}

/// `scripts/check payloads`, run over a capture.
private enum PayloadCheck {
    static func run(_ wire: [(topic: String, payload: [UInt8])]) async throws -> Tool.Ending {
        let path = NSTemporaryDirectory() + "waypost-wire-\(UUID().uuidString).jsonl"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let script =
            URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../scripts/checks/payloads").standardizedFileURL
        if wire.isEmpty { return try await Tool.run(script.path, hasErrors: true) }
        let capture = try WireCapture(path: path)
        for message in wire { capture.take(topic: message.topic, payload: message.payload) }
        return try await Tool.run(script.path, [path], hasErrors: true)
    }
}
