import CommandSupport
import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostCLI

/// What a broker announces when it accepts a connection is in `waypost doctor`, with what follows from it.
@Suite struct AnnouncedLimitsTests {
    private func findings(packet: Int? = nil, _ change: (inout BrokerFeatures) -> Void = { _ in })
        -> [DoctorFinding]
    {
        var features = BrokerFeatures()
        change(&features)
        return AnnouncedLimits(features: features, packet: packet).findings
    }

    @Test func `of a broker that announces nothing there is nothing`() { #expect(findings().isEmpty) }

    @Test func `each limit is named as the standard names it, and what breaks Waypost has advice`() throws {
        let cases: [([DoctorFinding], String, DoctorFinding.Status)] = [
            (findings { $0.maximumQoS = 0 }, "Maximum QoS 0", .failed),
            (findings { $0.maximumQoS = 1 }, "Maximum QoS 1", .note),
            (findings { $0.retainAvailable = false }, "Retain Available 0", .failed),
            (findings { $0.wildcardsAvailable = false }, "Wildcard Subscription Available 0", .failed),
            (findings(packet: 262_143), "Maximum Packet Size 262143", .warning),
            (findings(packet: 262_144), "Maximum Packet Size 262144", .note),
            (findings { $0.serverKeepAlive = 20 }, "after 30 s of silence", .note),
            (findings { $0.serverKeepAlive = 0 }, "ends no silent connection", .note),
            (findings { $0.assignedClientID = "auto-1" }, "Assigned Client Identifier auto-1", .note),
        ]
        for (found, words, status) in cases {
            let finding = try #require(found.first)
            #expect(found.count == 1 && finding.found.contains(words) && finding.status == status, "\(found)")
            #expect((finding.advice == nil) == (status == .note), "\(found)")
        }
    }

    // Each other check would fail for the same reason, and name another one.
    @Test(.timeLimit(.minutes(60)), arguments: ["max_qos 0", "retain_available false"])
    func `where no agent can work, that alone is the fault, with its reason`(_ line: String) async throws {
        let broker = try await TestBroker.start(["allow_anonymous true", line])
        defer { broker.end() }
        let ending = try await RunningCommand.run(["doctor", "--json", "--broker", broker.url])
        #expect(ending.status == 1, "\(ending)")
        let findings = try ending.output.map { try JSONValue(parsing: $0) }
        let bad = findings.filter { $0["status"] == "failed" || $0["status"] == "warning" }
        #expect(bad.map { $0["check"] } == ["announced"], "\(ending)")
        #expect(
            bad.first?["advice"]?.stringValue?.contains("raise") == true
                || bad.first?["advice"]?.stringValue?.contains("allow them in the broker") == true,
            "\(ending)")
    }

    @Test(
        .timeLimit(.minutes(60)),
        arguments: [
            ("max_qos 1", "Maximum QoS 1"), ("max_keepalive 20", "Server Keep Alive 20"),
            ("max_packet_size 100000", "Maximum Packet Size 100000"),
        ])
    func `what a real broker announces and does no harm is said`(_ line: String, _ text: String) async throws
    {
        let broker = try await TestBroker.start(["allow_anonymous true", line])
        defer { broker.end() }
        let ending = try await RunningCommand.run(["doctor", "--broker", broker.url])
        #expect(ending.output.contains { $0.contains("announced") && $0.contains(text) }, "\(ending)")
        #expect(!ending.output.contains { $0.hasPrefix("failed") }, "\(ending)")
    }

    @Test func `an answer to a subscription is a sentence and no value of the language`() {
        let answers: [SubscriptionResult.Answer] = [
            .granted, .lowered(to: .atMostOnce), .refused(.notAuthorized), .refused(ReasonCode(rawValue: 2)),
            .invalid(TopicError(topic: "a/#/b", reason: .misplacedWildcard)),
        ]
        for answer in answers {
            let text = "\(answer)"
            for word in ["MQTTLink.", "lowered(", "QoS.", "Optional(", "ReasonCode"] {
                #expect(!text.contains(word), "\(text)")
            }
        }
        #expect(
            answers.prefix(3).map { "\($0)" } == [
                "granted", "granted at QoS 0 at most", "refused: Not authorized (0x87)",
            ])
    }
}
