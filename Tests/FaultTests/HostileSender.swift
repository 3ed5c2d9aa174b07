import Foundation
import MQTTLink
import TestSupport
import Waypost

/// A sender with the rights of any other, who does his worst within them.
actor HostileSender {
    private let broker: TestBroker
    private var random: SeededGenerator
    private var number = 0

    init(broker: TestBroker, seed: UInt64) {
        self.broker = broker
        random = SeededGenerator(seed: seed)
    }

    /// Sends until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            guard let url = try? BrokerURL(broker.url),
                let session = try? await MQTTSession.connect(
                    .oneShot(brokers: [url], clientID: "hostile"), within: .seconds(5))
            else { continue }
            while !Task.isCancelled, session.endReason == nil {
                _ = try? await session.publish(next())
                // In bursts, with pauses: it is the agent that is tried here, and not how much a broker can queue.
                if number % 20 == 0 { try? await Task.sleep(for: .seconds(1)) }
            }
            await session.disconnect()
        }
    }

    private func next() -> MQTTMessage {
        number += 1
        let id = "h\(number)"
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        var message = MQTTMessage(topic: "waypost/v1/soak/cmd/hostile", payload: [])
        func send(_ payload: String) { message.payload = Array(payload.utf8) }
        switch Int.random(in: 0..<12, using: &random) {
        case 0: send(#"{"id":"#)
        case 1: send(#"{"id":"\#(id)","type":"\#(String(repeating: "\u{301}", count: 7_000))"}"#)
        case 2:
            send(#"{"id":"\#(id)","type":"ping"}"#)
            message.properties.responseTopic = "waypost/v1/soak/reply/soak"
            message.properties.correlationData = [UInt8](repeating: 7, count: 20_000)
        case 3: send(#"{"id":"\#(id)","type":"ping","exp":\#(now + 86_000_000)}"#)
        case 4: send(String(repeating: "[", count: 50_000))
        case 5: message.payload = [UInt8](repeating: 0xFF, count: 60_000)
        case 6: send(envelope(id))
        case 7:
            send(#"{"id":"\#(id)","type":"ping"}"#)
            message.qos = .atMostOnce
            message.properties.user = (0..<50).map {
                MQTTProperties.User("n\($0)", String(repeating: "v", count: 400))
            }
        case 8: send(#"{"id":"\#(id)","type":"cancel","target":"c\#(number)"}"#)
        case 9: message.payload = [UInt8](repeating: UInt8(ascii: " "), count: 100_000)
        case 10: send(#"{"id":"\#(id)","type":"replay","since":0,"max":500}"#)
        default:
            // The same bytes again and again, under few ids.
            send(#"{"id":"again-\#(number % 7)","type":"open","url":"scheme://router/user/1"}"#)
        }
        return message
    }

    /// Many signatures, none of them good.
    private func envelope(_ id: String) -> String {
        let payload = Data(#"{"id":"\#(id)","type":"ping"}"#.utf8).base64EncodedString()
        let signature = Data(repeating: 1, count: 64).base64EncodedString()
        let signatures = Array(repeating: #"{"sig":"\#(signature)"}"#, count: 16).joined(separator: ",")
        return
            #"{"payloadType":"application/vnd.waypost.command+json","payload":"\#(payload)","signatures":[\#(signatures)]}"#
    }
}
