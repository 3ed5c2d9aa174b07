import MQTTLink
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `The attributes of CloudEvents` {
    private static let now: Int64 = 1_795_235_370_882

    private func attributes(_ topic: String, _ payload: String) -> [String: String]? {
        let message = MQTTMessage(
            topic: topic, payload: Array(payload.utf8), qos: .atLeastOnce, retain: false)
        return CloudEvent.Source(topic, .standard).map { source in
            let event = CloudEvent(message, from: source, at: Self.now)
            return Dictionary(uniqueKeysWithValues: event.properties.map { ($0.name, $0.value) })
        }
    }

    @Test func `of a reply are its topic, the command's id and its time`() throws {
        let reply = Reply(
            id: "c-17", code: .ok, result: ["a": 1, "at": 5], milliseconds: 3, attempt: 1, at: Self.now + 1,
            detail: nil)
        let payload = String(decoding: reply.encoded(), as: UTF8.self)
        #expect(
            attributes("waypost/v1/k1/reply/ops", payload) == [
                "specversion": "1.0", "type": "waypost.reply", "source": "waypost/v1/k1/reply/ops",
                "id": "c-17", "time": "2026-11-21T04:29:30.883Z",
            ])
        let interim = Reply.accepted(id: "c-17", attempt: 1, at: Self.now).encoded()
        let early = attributes("waypost/v1/k1/reply/ops", String(decoding: interim, as: UTF8.self))
        #expect(early?["id"] == "c-17.accepted")
    }

    @Test func `of a report are its id and when it last happened`() {
        let report = FailureReport(
            id: "01M7", code: .noRoute, origin: .router, detail: #"no ,"last":1, here"#, at: Self.now - 1000)
        let found = attributes(
            "waypost/v1/k1/fail", String(decoding: report.encoded(), as: UTF8.self))
        #expect(found?["type"] == "waypost.fail")
        #expect(found?["source"] == "waypost/v1/k1")
        #expect(found?["id"] == "01M7")
        #expect(found?["time"] == "2026-11-21T04:29:29.882Z")
    }

    @Test(
        arguments: [
            ("state", "waypost.state"), ("health", "waypost.health"), ("routes", "waypost.routes"),
            ("map/applied", "waypost.map.applied"), ("log/e", "waypost.log"),
        ])
    func `of a document are its kind and an id of their own`(_ topic: String, _ type: String) {
        let first = attributes("waypost/v1/k1/\(topic)", "{}")
        #expect(first?["type"] == type)
        #expect(first?["time"] == "2026-11-21T04:29:30.882Z")
        #expect(first?["id"]?.count == 26)
        #expect(first?["id"] != attributes("waypost/v1/k1/\(topic)", "{}")?["id"])
    }

    @Test func `are not those of what is no event`() {
        #expect(attributes("waypost/v1/k1/echo", "{}") == nil)
        #expect(attributes("elsewhere", "{}") == nil)
    }
}
