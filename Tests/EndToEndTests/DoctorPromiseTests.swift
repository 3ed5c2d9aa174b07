import CommandSupport
import TestSupport
import Testing
import Waypost

@testable import WaypostCLI

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct DoctorPromiseTests {
    private func look(
        _ brokers: [TestBroker], _ arguments: String...
    ) async throws -> (status: Int32, found: [String: JSONValue]) {
        let ending = try await RunningCommand.run(
            ["doctor", "--try", "--json"] + brokers.flatMap { ["--broker", $0.url] } + arguments)
        let found = try ending.output.map { try JSONValue(parsing: $0) }
        return (
            ending.status,
            Dictionary(found.map { ($0["check"]?.stringValue ?? "", $0) }) { first, _ in first }
        )
    }

    @Test(arguments: ["5", "3.1.1"])
    func `a broker that keeps all it should is found to, and nothing is left behind`(
        _ version: String
    ) async throws {
        let broker = try await TestBroker.start(["allow_anonymous true", "max_queued_messages 0"])
        defer { broker.end() }
        let (status, found) = try await look([broker], "--mqtt", version)
        #expect(status == 0, "\(found)")
        for check in ["retained", "session", "queue"] {
            #expect(found[check]?["status"] == "ok", "\(check): \(found)")
        }
        #expect(found["retained"]?["found"]?.stringValue?.contains("through a wildcard") == true)
        let backend = try await Backend(broker: broker.url)
        // All that is retained stands before the answer to its own message.
        try await backend.publish("end", to: "waypost/v1/end/fail")
        try await backend.wait(for: "its own message") { seen in
            seen.contains { $0.topic.hasSuffix("/end/fail") }
        }
        #expect(backend.seen.allSatisfy { !$0.topic.contains("/doctor-") }, "\(backend.seen.map(\.topic))")
        await backend.disconnect()
    }

    @Test func `a queue that overflows in silence is found by what does not come`() async throws {
        let broker = try await TestBroker.start(["allow_anonymous true", "max_queued_messages 200"])
        defer { broker.end() }
        let (status, found) = try await look([broker])
        #expect(status == 0)
        #expect(found["queue"]?["status"] == "warning", "\(found)")
        let text = try #require(found["queue"]?["found"]?.stringValue)
        // 200 that wait, and twenty on their way.
        #expect(text.hasPrefix("of 1200 messages for a client that was away 2"), "\(text)")
        #expect(text.hasSuffix("dropped the newest"), "\(text)")
        #expect(found["queue"]?["advice"]?.stringValue?.contains("max_queued_messages") == true)
    }

    @Test func `what is retained at one broker of the list and not at another is found`() async throws {
        let one = try await TestBroker.start()
        defer { one.end() }
        let other = try await TestBroker.start()
        defer { other.end() }
        let (_, found) = try await look([one, other])
        #expect(found["retained"]?["status"] == "warning", "\(found)")
        #expect(
            found["retained"]?["found"]?.stringValue?.hasSuffix("is not at \(other.url)") == true, "\(found)")
    }

    @Test func `a broker without retained messages is found, and the rest is tried all the same`()
        async throws
    {
        let broker = try await TestBroker.start(["allow_anonymous true", "retain_available false"])
        defer { broker.end() }
        let (_, found) = try await look([broker])
        #expect(found["retained"]?["found"] == "the broker keeps no retained messages", "\(found)")
        #expect(found["session"]?["status"] == "ok", "\(found)")
    }

    @Test(arguments: ["5", "3.1.1"])
    func `where the rules do not allow it, nothing is claimed`(_ version: String) async throws {
        let broker = try await TestBroker.start(
            ["allow_anonymous true", "acl_file @dir/acl"], files: ["acl": "topic read #\n"])
        defer { broker.end() }
        let (_, found) = try await look([broker], "--mqtt", version)
        #expect(found["promises"]?["status"] == "skipped", "\(found)")
        #expect(found["promises"]?["advice"]?.stringValue?.contains("waypost/v1/+/echo") == true)
        #expect(found["retained"] == nil && found["queue"] == nil)
    }

    @Test func `a broker whose nodes keep retained messages apart, and not for wildcards, has two faults`() {
        let both = PromiseCheck.retained(without: ["b"], onlyExact: ["a"], complete: [])
        #expect(both.map(\.status) == [.warning, .warning])
        #expect(both.first?.found.hasSuffix("is not at b") == true)
        #expect(both.last?.found.hasSuffix("none to wildcards") == true)
        #expect(
            PromiseCheck.retained(without: [], onlyExact: [], complete: ["a", "b"]).map(\.status) == [.ok])
        #expect(PromiseCheck.retained(without: ["a"], onlyExact: [], complete: []).count == 1)
    }

    @Test func `a session that the broker keeps for less than a day is a warning`() {
        #expect(PromiseCheck.kept(true, 10, 7_200).status == .warning)
        #expect(PromiseCheck.kept(true, 10, 86_400).status == .ok)
        #expect(PromiseCheck.kept(true, 10, nil).status == .ok)
        #expect(PromiseCheck.kept(false, 0, nil).status == .failed)
        #expect(PromiseCheck.queue(1_000, hasFirst: false).found.hasSuffix("dropped the oldest"))
    }
}
