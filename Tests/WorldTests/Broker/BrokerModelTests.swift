import TestSupport
import Testing

@testable import World

/// The broker of the world, held against a real mosquitto.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct BrokerModelTests {
    private func withScript(
        _ traits: BrokerModel.Traits = BrokerScript.traits(), seed: UInt64 = 0, _ lines: [String] = [],
        _ body: (BrokerScript) async throws -> Void
    ) async throws {
        let persistence = traits.persists ? ["persistence true", "persistence_location @dir/"] : []
        let broker = try await TestBroker.start(
            ["allow_anonymous true", "max_inflight_messages 0", "acl_file @dir/acl"] + persistence + lines,
            files: ["acl": BrokerScript.rights.joined(separator: "\n") + "\n"])
        defer { broker.end() }
        try await body(BrokerScript(broker, traits, seed: seed))
    }

    private func message(_ topic: String, _ text: String, retain: Bool = false) -> BrokerModel.Message {
        BrokerModel.Message(topic: topic, payload: Array(text.utf8), qos: 1, retain: retain)
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `it does what mosquitto does, whatever clients do`(seed: UInt64) async throws {
        try await withScript(seed: seed) { script in
            for _ in 0..<150 { try await script.step() }
        }
    }

    @Test
    func `a will comes after its delay, or with the end of its session, and not once its client is back`()
        async throws
    {
        try await withScript { script in
            try script.connect("c", .init(expiry: nil))
            try script.subscribe("c", "w/#", .init())
            let away = BrokerModel.Will(message: message("w/1", "away"), delay: 3_600_000)
            try script.connect("a", .init(expiry: nil, will: away))
            try await script.end("a", isGoodbye: false)
            let later = BrokerModel.Will(message: message("w/1", "later"), delay: 1_000)
            try script.connect("a", .init(expiry: nil, will: later))
            #expect(script.model.backlog(of: "c") == 0)
            // From here on it may come at any moment: nothing is compared before it was seen.
            try await script.end("a", isGoodbye: false, isQuiet: false)
            try await script.passed(1_000, until: "Sending PUBLISH to c (d0, q1, r0, m1, 'w/1'")
            #expect(script.model.backlog(of: "c") == 1)
            let atEnd = BrokerModel.Will(message: message("w/2", "at its end"), delay: 3_600_000)
            try script.connect("b", .init(expiry: 1_000, will: atEnd))
            try await script.end("b", isGoodbye: false, isQuiet: false)
            try await script.passed(1_000, until: "Sending PUBLISH to c (d0, q1, r0, m2, 'w/2'")
            #expect(script.model.backlog(of: "c") == 2)
            try script.connect("b", .init(expiry: 0))
        }
    }

    @Test func `what has expired is delivered to nobody`() async throws {
        try await withScript { script in
            try script.connect("a", .init(expiry: nil))
            try script.connect("c", .init(expiry: nil))
            try script.subscribe("c", "w/+", .init())
            try await script.end("c", isGoodbye: true)
            try script.publish("a", message("w/1", "short"), expiry: 1)
            try script.publish("a", message("w/2", "kept", retain: true), expiry: 1)
            try script.publish("a", message("w/1", "long"), expiry: 3_600)
            // The end of a session a second later says that the time is over.
            try script.connect("b", .init(expiry: 1_000))
            try await script.end("b", isGoodbye: true)
            try await script.passed(3_000, until: "Expiring client b")
            try script.connect("c", .init(expiry: nil))
            try script.subscribe("c", "w/#", .init())
            #expect(script.model.backlog(of: "c") == 1)
        }
    }

    @Test func `a session that is away keeps so many messages, and the first ones`() async throws {
        var traits = BrokerScript.traits()
        traits.queueLimit = 5
        try await withScript(traits, ["max_queued_messages 5"]) { script in
            try script.connect("a", .init(expiry: nil))
            try script.connect("c", .init(expiry: nil))
            try script.subscribe("c", "w/+", .init())
            try await script.end("c", isGoodbye: false)
            for number in 1...8 { try script.publish("a", message("w/1", "\(number)")) }
            try script.connect("c", .init(expiry: nil))
            #expect(script.model.backlog(of: "c") == 5)
        }
    }

    @Test func `one that keeps nothing on disk has forgotten all after a power cut`() async throws {
        try await withScript(BrokerScript.traits(persists: false)) { script in
            try script.connect("a", .init(expiry: nil))
            try script.subscribe("a", "w/#", .init())
            try script.publish("a", message("w/1", "kept", retain: true))
            try await script.kill()
            try script.connect("a", .init(expiry: nil))
            try script.subscribe("a", "w/#", .init())
            #expect(script.model.retained.isEmpty)
        }
    }
}

/// What other brokers do, and what the standard says where mosquitto does something else.
struct BrokerTraitsTests {
    private func deliveries(
        _ change: (inout BrokerModel.Traits) -> Void, _ steps: (inout BrokerModel) -> Void
    ) -> [String] {
        var traits = BrokerModel.Traits()
        change(&traits)
        var model = BrokerModel(traits)
        model.connected("a", .init(expiry: nil))
        model.connected("b", .init(expiry: nil, window: 2))
        steps(&model)
        return model.takeEffects().compactMap { effect in
            switch effect {
            case .delivers("b", let delivery):
                String(decoding: delivery.message.payload, as: UTF8.self)
                    + (delivery.isDuplicate ? " again" : "")
            case .closed(let client): "\(client) is closed"
            default: nil
            }
        }
    }

    private func message(_ text: String, retain: Bool = false, qos: UInt8 = 1) -> BrokerModel.Message {
        BrokerModel.Message(topic: "w/1", payload: Array(text.utf8), qos: qos, retain: retain)
    }

    @Test func `no more is under way than the window, and the next goes with an acknowledgement`() {
        let came = deliveries({ _ in }) { model in
            model.subscribed("b", to: "w/#", .init())
            for number in 1...4 { model.published("a", message("\(number)")) }
            let first = model.takeEffects().compactMap { effect in
                if case .delivers("b", let delivery) = effect { delivery.id } else { nil }
            }
            #expect(first.count == 2)
            model.acknowledged("b", first[1])
        }
        #expect(came == ["3"])
    }

    @Test func `what was under way comes again, marked, before the rest`() {
        let came = deliveries({ _ in }) { model in
            model.subscribed("b", to: "w/#", .init())
            for number in 1...3 { model.published("a", message("\(number)")) }
            _ = model.takeEffects()
            model.cut("b")
            model.connected("b", .init(expiry: nil))
        }
        #expect(came == ["1 again", "2 again", "3"])
    }

    @Test func `each trait changes what its name says, and nothing else`() {
        let subscribeFirst: (inout BrokerModel) -> Void = { model in
            model.subscribed("b", to: "w/#", .init())
            model.subscribed("b", to: "w/1", .init(qos: 0))
            model.published("a", self.message("x"))
        }
        #expect(deliveries({ _ in }, subscribeFirst) == ["x", "x"])
        #expect(deliveries({ $0.copiesForEachFilter = false }, subscribeFirst) == ["x"])
        #expect(
            deliveries(
                {
                    $0.deliversTwice = true; $0.copiesForEachFilter = false
                }, subscribeFirst) == ["x", "x"])

        let retainFirst: (inout BrokerModel) -> Void = { model in
            model.published("a", self.message("kept", retain: true))
            model.subscribed("b", to: "w/+", .init())
            model.subscribed("b", to: "w/1", .init())
        }
        #expect(deliveries({ _ in }, retainFirst) == ["kept", "kept"])
        #expect(deliveries({ $0.givesRetainedToWildcards = false }, retainFirst) == ["kept"])
        #expect(
            deliveries({ _ in }) { model in
                retainFirst(&model)
                _ = model.takeEffects()
                model.forgot("w/1")
                model.subscribed("b", to: "w/1", .init())
            } == [])

        let large: (inout BrokerModel) -> Void = { model in
            model.subscribed("b", to: "w/1", .init())
            model.published("a", self.message("large"))
        }
        #expect(deliveries({ $0.largestPayload = 4 }, large) == ["a is closed"])
        #expect(deliveries({ $0.maximumQoS = 0 }, large) == ["a is closed"])
        #expect(deliveries({ $0.mayWrite = { client, _ in client != "a" } }, large) == [])
        #expect(deliveries({ $0.mayRead = { client, _ in client != "b" } }, large) == [])

        let restarts: (inout BrokerModel) -> Void = { model in
            model.subscribed("b", to: "w/1", .init())
            model.connected("c", .init(will: .init(message: self.message("will"))))
            model.restarted()
            _ = model.takeEffects()
            model.connected("b", .init(expiry: nil))
        }
        #expect(deliveries({ _ in }, restarts) == ["will"])
        #expect(deliveries({ $0.publishesWillsAtStop = false }, restarts) == [])
        #expect(deliveries({ $0.persists = false }, restarts) == [])

        let again: (inout BrokerModel) -> Void = { model in
            model.subscribed("b", to: "w/1", .init(noLocal: true))
            model.subscribed("b", to: "w/1", .init())
            model.published("b", self.message("own"))
        }
        #expect(deliveries({ _ in }, again) == [])
        #expect(deliveries({ $0.keepsFirstOptions = false }, again) == ["own"])

        let new: (inout BrokerModel) -> Void = { model in
            model.connected("b", .init(isClean: true, expiry: nil))
            model.subscribed("b", to: "w/1", .init())
            model.restarted()
            model.connected("a", .init(expiry: nil))
            model.published("a", self.message("x"))
            _ = model.takeEffects()
            model.connected("b", .init(expiry: nil))
        }
        #expect(deliveries({ _ in }, new) == [])
        #expect(deliveries({ $0.persistsNewSessions = true }, new) == ["x"])
    }
}
