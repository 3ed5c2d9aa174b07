import MQTTLink
import Testing

@testable import WaypostBackend

/// A place is one place, however it is written: who takes one of several user names at a broker finds those that others
/// took there.
@Suite struct `The place of a broker` {
    static let same = [
        [["mqtt://broker:1883"], ["MQTT://Broker"], ["tcp://BROKER.:1883/"], ["mqtt://broker."]],
        [["mqtts://[::1]:8883"], ["tls://[0:0:0:0:0:0:0:1]"], ["ssl://[0::0001]:8883"]],
        [["mqtt://a", "mqtt://b"], ["mqtt://B:1883", "mqtt://A."], ["mqtt://a", "mqtt://b", "mqtt://a"]],
        [["unix:///run/Mosquitto"], ["mqtt+unix:///run/Mosquitto"]],
        [["mqtt://a"]], [["mqtts://broker:1883"]], [["unix:///run/mosquitto"]], [["mqtt://broker:1884"]],
    ]

    @Test func `is the same in all spellings, and another for others`() throws {
        var seen: Set<String> = []
        for spellings in Self.same {
            let places = try Set(
                spellings.map { brokers in
                    var settings = try BackendConfiguration(broker: brokers[0], name: "ops")
                    settings.brokers = try brokers.map { try BrokerURL($0) }
                    return settings.comparedPlace
                })
            #expect(places.count == 1, "\(places)")
            let isNew = seen.isDisjoint(with: places)
            #expect(isNew)
            seen.formUnion(places)
        }
    }
}
