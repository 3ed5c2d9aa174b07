import MQTTLink
import Testing

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
        #expect(findings { $0.maximumQoS = 1 }.isEmpty)
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
