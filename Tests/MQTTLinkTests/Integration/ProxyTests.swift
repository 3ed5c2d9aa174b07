import TestSupport
import Testing

@testable import MQTTLink

/// Brokers behind a SOCKS5 proxy.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct ProxyTests {
    private func configuration(
        _ broker: String, _ proxy: String, _ change: (inout MQTTLinkConfiguration) -> Void = { _ in }
    ) throws -> MQTTLinkConfiguration {
        let proxy = try ProxyURL(proxy)
        return try .test(url: broker, subscriptions: [Subscription("a")]) {
            $0.proxy = proxy
            change(&$0)
        }
    }

    private func finding(_ configuration: MQTTLinkConfiguration) async throws -> String {
        try await withLink(configuration) { _, recorder in
            let reason = try await recorder.disconnected()
            guard case .proxy(let text) = reason.cause else {
                Issue.record("\(reason)")
                return ""
            }
            #expect(!reason.description.contains("geheim"), "\(reason)")
            return text
        }
    }

    @Test(arguments: [false, true])
    func `messages go through it both ways, the session outlives it, and without it there is no connection`(
        hasPassword: Bool
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let proxy =
            hasPassword ? try await SocksProxy(user: "kiosk", password: "ge@heim") : try await SocksProxy()
        let login = hasPassword ? "kiosk:ge%40heim@" : ""
        let settings = try configuration(
            "mqtt://localhost:\(broker.port)", "socks5://\(login)127.0.0.1:\(proxy.port)")
        try await withLink(settings) { link, recorder in
            let connection = try await recorder.connected()
            // The library would send no properties with version 5, and the broker end the session.
            #expect(connection.version == .v311 && !connection.fellBack)
            link.publish((0..<300).map { OutgoingMessage($0, "a", String(repeating: "x", count: 500)) })
            try await recorder.received(300)
            try await recorder.settled(300)
            // It is the proxy that knows the name.
            #expect(
                proxy.log.contains { $0.contains("connected to localhost:\(broker.port)") }, "\(proxy.log)")
            proxy.end()
            _ = try await recorder.disconnected()
        }
        let next =
            hasPassword ? try await SocksProxy(user: "kiosk", password: "ge@heim") : try await SocksProxy()
        let again = try configuration(
            "mqtt://localhost:\(broker.port)", "socks5://\(login)127.0.0.1:\(next.port)")
        try await withLink(again) { _, recorder in
            let connection = try await recorder.connected()
            #expect(connection.sessionPresent)
        }
    }

    @Test func `a connection comes back through it when the broker does`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let proxy = try await SocksProxy()
        try await withLink(try configuration("mqtt://localhost:\(broker.port)", proxy.url)) {
            link, recorder in
            try await recorder.connected()
            try await broker.restart()
            try await recorder.connected(times: 2)
            link.publish([OutgoingMessage(1, "a", "again")])
            #expect(try await recorder.received(1).first?.text == "again")
        }
    }

    @Test func `one that ends in the middle is come back to, and what was under way gets its receipt`()
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let proxy = try await SocksProxy()
        try await withLink(try configuration("mqtt://localhost:\(broker.port)", proxy.url)) {
            link, recorder in
            try await recorder.connected()
            // It takes what is sent, and passes nothing on.
            proxy.pause()
            link.publish((0..<300).map { OutgoingMessage($0, "a", String(repeating: "x", count: 500)) })
            try await proxy.restart()
            let connection = try await recorder.connected(times: 2)
            #expect(connection.sessionPresent)
            try await recorder.settled(300)
            link.publish([OutgoingMessage(300, "a", "again")])
            try await recorder.settled(301)
        }
    }

    @Test func `one that hangs is given up at the deadline, and in a connection after a keepalive`()
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let proxy = try await SocksProxy()
        let settings = try configuration("mqtt://localhost:\(broker.port)", proxy.url) {
            ($0.keepAlive, $0.connectTimeout) = (.seconds(5), .milliseconds(500))
        }
        try await withLink(settings) { _, recorder in
            try await recorder.connected()
            proxy.pause()
            let lost = try await recorder.disconnected()
            #expect(lost.cause == .keepAlive, "\(lost)")
            // Then it takes the connection, and says nothing.
            let late = try await recorder.disconnected(times: 2)
            #expect(late.cause == .timedOut, "\(late)")
            proxy.resume()
            try await recorder.connectedAgain()
        }
    }

    @Test func `TLS goes through it to the broker, whose name is checked`() async throws {
        let certificates = try await offThePool { try TestCertificates() }
        defer { certificates.remove() }
        let broker = try await TestBroker.start([
            "allow_anonymous true", "cafile \(certificates["ca.pem"])",
            "certfile \(certificates["server.pem"])", "keyfile \(certificates["server.key"])",
        ])
        defer { broker.end() }
        let proxy = try await SocksProxy(user: "kiosk", password: "geheim")
        let login = "socks5://kiosk:geheim@127.0.0.1:\(proxy.port)"
        let good = try configuration("mqtts://localhost:\(broker.port)", login) {
            $0.tls = TLSOptions(caFile: certificates["ca.pem"])
        }
        try await withLink(good) { link, recorder in
            let connection = try await recorder.connected()
            #expect(connection.certificate != nil)
            link.publish((0..<300).map { OutgoingMessage($0, "a", String(repeating: "x", count: 500)) })
            try await recorder.received(300)
            try await recorder.settled(300)
        }
        // The system's authorities know nothing of this one.
        let bad = try configuration("mqtts://localhost:\(broker.port)", login) { $0.tls = TLSOptions() }
        try await withLink(bad) { _, recorder in
            let reason = try await recorder.disconnected()
            if case .tls = reason.cause { return }
            Issue.record("\(reason)")
        }
    }

    @Test func `what does not let it through is named, and no password is`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let proxy = try await SocksProxy(user: "kiosk", password: "geheim")
        let (place, url) = ("127.0.0.1:\(proxy.port)", "mqtt://localhost:\(broker.port)")
        for login in ["kiosk:geheimer@", ""] {
            let found = try await finding(configuration(url, "socks5://\(login)\(place)"))
            #expect(found.hasPrefix("socks5://\(place) "), "\(found)")
            #expect(
                found.contains("does not take the user name") || found.contains("refuses the connection"),
                "\(found)")
        }
        let free = try FreePort.find()
        let nowhere = try await finding(
            configuration("mqtt://127.0.0.1:\(free)", "socks5://kiosk:geheim@\(place)"))
        #expect(nowhere.contains("can't reach the broker"), "\(nowhere)")
        let none = try await finding(configuration(url, "socks5://127.0.0.1:\(free)"))
        #expect(none.contains("can't be reached: Connection refused"), "\(none)")
        let unknown = try await finding(configuration(url, "socks5://nowhere.invalid:1080"))
        #expect(unknown.contains("its name has no address"), "\(unknown)")
        // A broker is no proxy, and says nothing to what is no MQTT.
        let wrong = try await finding(configuration(url, "socks5://127.0.0.1:\(broker.port)"))
        #expect(wrong.contains("closed the connection") || wrong.contains("is no SOCKS5"), "\(wrong)")
        let version = try configuration(url, proxy.url) { $0.protocolVersion = .v5 }
        try await withLink(version) { _, recorder in
            let reason = try await recorder.disconnected()
            #expect(reason.description.contains("MQTT 5 does not go through"))
        }
    }

    @Test func `a URL has a host and a port, and with a user name a password`() throws {
        let url = try ProxyURL("socks5://kio%40sk:a%3Ab%25@proxy.example:1080")
        #expect(url.host == "proxy.example" && url.port == 1_080)
        #expect(url.credentials == Credentials(username: "kio@sk", password: "a:b%"))
        #expect("\(url)" == "socks5://proxy.example:1080")
        #expect(try ProxyURL("SOCKS5://[::1]:9050").description == "socks5://[::1]:9050")
        for text in [
            "", "proxy.example:1080", "http://proxy.example:1080", "socks5://proxy.example", "socks5://:1080",
            "socks5://user@host:1080", "socks5://:pw@host:1080", "socks5://user:@host:1080",
            "socks5://a:b:c@host:1080", "socks5://a:b%zz@host:1080", "socks5://a:b%00@host:1080",
            "socks5://a:b%ff@host:1080", "socks5://a:b%+1@host:1080", "socks5://host:0",
            "socks5://host:1080/x",
            "socks5://a:\(String(repeating: "x", count: 256))@host:1080", "socks5://ho st:1080",
        ] {
            let error = #expect(throws: ProxyURLError.self) { try ProxyURL(text) }
            #expect(error?.description.contains("expected socks5://") == true, "\(text)")
            #expect(error?.description.contains("xxx") == false)
        }
    }
}
