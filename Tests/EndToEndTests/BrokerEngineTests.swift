import MQTTLink
import Testing

@testable import WaypostCLI

struct BrokerEngineTests {
    private func engine(_ change: (inout BrokerEngine.Signs) -> Void) -> BrokerEngine? {
        var signs = BrokerEngine.Signs()
        change(&signs)
        return BrokerEngine(signs)
    }

    @Test func `a broker is recognised by what only it shows`() {
        #expect(engine { $0.published = "mosquitto version 2.0.11" } == .mosquitto)
        #expect(
            engine {
                $0.version = .v311
                $0.silentOn5 = true
            } == .oldRabbitMQ)
        #expect(
            engine {
                $0.version = .v311
                $0.keepsOwnFilter = true
            } == .nats)
        #expect(
            engine {
                $0.features.maximumQoS = 1
                $0.features.sharedAvailable = false
                $0.features.topicAliasMaximum = 16
                $0.features.sessionExpiry = 86_400
            } == .rabbitMQ)
        #expect(engine { $0.description = "EMQX Enterprise" } == .emqx)
        #expect(engine { $0.features.topicAliasMaximum = .max } == .emqx)
        #expect(
            engine {
                $0.receiveMaximum = 10
                $0.features.topicAliasMaximum = 5
            } == .hiveMQ)
    }

    @Test func `one that shows nothing of its own is not guessed at`() {
        #expect(engine { _ in } == nil)
        // A broker of 3.1.1 that refuses 5 as the standard says.
        #expect(engine { $0.version = .v311 } == nil)
        #expect(engine { $0.features.maximumQoS = 1 } == nil)
        #expect(engine { $0.receiveMaximum = 10 } == nil)
    }

    @Test(arguments: [
        (BrokerEngine.oldRabbitMQ, "OperatingRabbitMQ"), (.rabbitMQ, "OperatingRabbitMQ"),
        (.nats, "OperatingNATS"),
        (.emqx, "OperatingEMQX"), (.hiveMQ, "OperatingHiveMQ"),
    ])
    func `what is known of it is a note that names its page`(_ engine: BrokerEngine, _ page: String) {
        #expect(engine.finding?.status == .note)
        #expect(engine.finding?.advice?.contains("the page of \(page)") == true)
        #expect(BrokerEngine.mosquitto.finding == nil)
    }
}
