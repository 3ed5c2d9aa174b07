import CommandSupport
import TestSupport
import Testing
import Waypost

/// `mosquitto_rr` of Debian's mosquitto-clients: a client that knows MQTT 5's request and response, and not us.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `Requests of mosquitto_rr` {
    private static let call =
        #"{"id":"rr-1","type":"call","service":"CalculatorService","method":"add","args":[2,40],"trace":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}"#

    @Test(arguments: ["mqttv5", "mqttv311"])
    func `are answered on the response topic`(_ version: String) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        let ending = try await Tool.run(
            "mosquitto_rr",
            [
                "-h", "127.0.0.1", "-p", "\(broker.port)", "-V", version, "-q", "1", "-W", "30",
                "-t", "waypost/v1/k1/cmd/ops", "-e", "waypost/v1/k1/reply/ops", "-m", Self.call,
            ])
        #expect(ending.status == 0)
        let reply = try JSONValue(parsing: ending.output.trimmed)
        #expect(reply["id"] == "rr-1")
        #expect(reply["status"] == "ok")
        #expect(reply["result"] == 42)
    }

    @Test func `get their correlation data, content type, format and trace back`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        let ending = try await Tool.run(
            "mosquitto_rr",
            [
                "-h", "127.0.0.1", "-p", "\(broker.port)", "-q", "1", "-W", "30",
                "-t", "waypost/v1/k1/cmd/ops", "-e", "waypost/v1/k1/reply/ops", "-m", Self.call,
                "-D", "publish", "correlation-data", "order-7", "-F", "%t|%D|%C|%F|%P",
            ])
        #expect(ending.status == 0)
        let start =
            "waypost/v1/k1/reply/ops|order-7|application/json|1|"
            + "traceparent:00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 "
            + "specversion:1.0 type:waypost.reply source:waypost/v1/k1/reply/ops id:rr-1 time:20"
        #expect(ending.output.trimmed.hasPrefix(start), "\(ending.output)")
    }
}

extension String {
    fileprivate var trimmed: String {
        String(self[..<(lastIndex { !$0.isNewline }.map(index(after:)) ?? startIndex)])
    }
}
