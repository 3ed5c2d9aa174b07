import MQTTLink
import Testing

struct ValueTests {
    @Test(arguments: [
        ("mqtt://127.0.0.1", "mqtt://127.0.0.1:1883"), ("mqtt://broker:1884/", "mqtt://broker:1884"),
        ("mqtts://broker.example.com", "mqtts://broker.example.com:8883"), ("MQTT://h", "mqtt://h:1883"),
        ("mqtt://[::1]:99", "mqtt://[::1]:99"), ("unix:///run/mosquitto.sock", "unix:///run/mosquitto.sock"),
    ])
    func `a broker's URL is read and shown in full`(text: String, shown: String) throws {
        #expect(try BrokerURL(text).description == shown)
    }

    @Test(arguments: [
        ("", "no scheme"), ("broker", "no scheme"), ("http://broker", "scheme is http"),
        ("mqtt://", "its host"),
        ("mqtt://:1883", "its host"), ("mqtt://h:0", "its port"), ("mqtt://h:65536", "its port"),
        ("mqtt://h:1:2", "in brackets"), ("mqtt://h:x", "its port"), ("mqtt://h/path", "a path"),
        ("mqtt://h:1883/path", "a path"), ("mqtt://h:1883/path/", "a path"),
        ("mqtt://h?x=1", "a path or a query"),
        ("mqtt://[::1]:1883/path", "a path"), ("mqtt://::1", "in brackets"), ("mqtt://[::1", "not closed"),
        ("mqtt://[::1]x", "follows the bracket"), ("mqtt://a b", "a blank"), ("unix://relative", "absolute"),
        ("mqtt://h\u{0}x", "a control character"),
        // What combines with a mark makes no other of it.
        ("mqtt://h:\u{301}", "its port"), ("mqtt://h/\u{301}", "a path"), ("mqtt:/\u{301}/h", "no scheme"),
        ("mqtt://ops:secret@\u{301}h", "does not belong"),
    ])
    func `what names no broker is refused with the reason`(text: String, reason: String) throws {
        let error = try #require(throws: BrokerURLError.self) { try BrokerURL(text) }
        #expect(error.reason.contains(reason), "\(error)")
        #expect(!error.description.contains("secret"))
    }

    @Test func `a password in a URL is refused, and not repeated`() throws {
        let error = try #require(throws: BrokerURLError.self) { try BrokerURL("mqtt://ops:secret@broker") }
        #expect(!error.description.contains("secret"))
        #expect(error.description.contains("does not belong"))
    }

    @Test(arguments: ["a", "a/b", "/", "a//b", "ä/ö", "$SYS/x", String(repeating: "x", count: 65_535)])
    func `good topics pass`(topic: String) throws { try Topic.check(name: topic) }

    @Test(arguments: [
        ("", TopicError.Reason.empty), ("a\u{0}b", .containsNUL), ("a/+", .wildcardInTopic),
        ("#", .wildcardInTopic),
        ("a\u{1}b", .containsControl), ("a\u{7F}b", .containsControl), ("a\u{85}b", .containsControl),
        ("a\u{FFFE}b", .containsControl), (String(repeating: "x", count: 65_536), .tooLong),
    ])
    func `bad topics are refused with the reason`(topic: String, reason: TopicError.Reason) throws {
        let error = try #require(throws: TopicError.self) { try Topic.check(name: topic) }
        #expect(error.reason == reason)
    }

    @Test(arguments: ["#", "+", "a/#", "+/b/+", "a/+/#", "/+"])
    func `good filters pass`(filter: String) throws { try Topic.check(filter: filter) }

    @Test(arguments: ["a#", "a/#/b", "#/a", "+a", "a/b+", "##", "a/++"])
    func `a wildcard that does not fill its level is refused`(filter: String) throws {
        let error = try #require(throws: TopicError.self) { try Topic.check(filter: filter) }
        #expect(error.reason == .misplacedWildcard)
    }

    @Test func `credentials are shown without the password`() {
        #expect(!"\(Credentials(username: "ops", password: "secret"))".contains("secret"))
    }

    @Test func `a reason says what was tried, where, what was found, what to do, and when next`() throws {
        let broker = try BrokerURL("mqtt://10.0.0.1")
        let reason = DisconnectReason(
            cause: .network(code: 111, text: "Connection refused"), stage: .connecting, broker: broker,
            retryIn: .milliseconds(1_540))
        #expect(
            reason.description
                == "connecting to mqtt://10.0.0.1:1883 (MQTT 5): Connection refused (errno 111); "
                + "is a broker listening there?; next try in 1.5 s")
    }

    @Test func `the reasons that may pass by themselves are those about the broker's state`() {
        let transient = (0...UInt8.max).filter { ReasonCode(rawValue: $0).isTransient }
        #expect(transient == [0x80, 0x83, 0x89, 0x91, 0x96, 0x97])
    }

    @Test(arguments: [
        (UInt8(0x8B), "Server shutting down (0x8B)"), (0x04, "Disconnect with will message (0x04)"),
        (0xEE, "Unknown reason (0xEE)"),
    ])
    func `a reason code is shown by name and number`(code: UInt8, shown: String) {
        #expect(ReasonCode(rawValue: code).description == shown)
    }
}
