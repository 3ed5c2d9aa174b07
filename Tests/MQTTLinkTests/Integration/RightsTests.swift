import MQTTLink
import TestSupport
import Testing

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct RightsTests {
    private static let passwords = TestBroker.passwordFile(user: "ops", password: "right")

    private func broker() async throws -> TestBroker {
        let acl = "user ops\ntopic readwrite open/#\ntopic read mine\n"
        return try await TestBroker.start(
            ["allow_anonymous false", "password_file @dir/passwords", "acl_file @dir/acl"],
            files: ["passwords": try Self.passwords.get(), "acl": acl])
    }

    @Test(arguments: [MQTTLinkConfiguration.ProtocolVersion.v5, .v311])
    func `a wrong password is reported as such, and the right one is accepted`(
        version: MQTTLinkConfiguration.ProtocolVersion
    ) async throws {
        let broker = try await broker()
        defer { broker.end() }
        for (password, isRight) in [("wrong", false), ("right", true)] {
            let configuration = try MQTTLinkConfiguration.test(broker) {
                $0.credentials = Credentials(username: "ops", password: password)
                $0.protocolVersion = version
            }
            try await withLink(configuration) { _, recorder in
                if isRight {
                    try await recorder.connected()
                    return
                }
                let reason = try await recorder.disconnected()
                guard case .refused(let code, _) = reason.cause else {
                    Issue.record("\(reason)")
                    return
                }
                #expect(code == .notAuthorized || code == .badUserNameOrPassword)
                #expect(reason.description.contains("check the user name"))
                #expect(!reason.description.contains("wrong"))
            }
        }
    }

    @Test func `on 5 a publish without the right is refused with 135, the others go through`() async throws {
        let broker = try await broker()
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(broker) {
            $0.credentials = Credentials(username: "ops", password: "right")
        }
        try await withLink(configuration) { link, recorder in
            try await recorder.connected()
            link.publish([OutgoingMessage(1, "closed/x", "1"), OutgoingMessage(2, "open/x", "2")])
            let receipts = try await recorder.settled(2)
            #expect(receipts.first { $0.token == 1 }?.result == .refused(.notAuthorized))
            #expect(receipts.first { $0.token == 2 }?.result == .acknowledged)
            #expect(recorder.reasons.isEmpty)
        }
    }

    @Test func `mosquitto grants a subscription it never serves, so only an echo shows the truth`()
        async throws
    {
        let broker = try await broker()
        defer { broker.end() }
        let subscriptions = [Subscription("closed/#"), Subscription("open/#")]
        let configuration = try MQTTLinkConfiguration.test(broker, subscriptions: subscriptions) {
            $0.credentials = Credentials(username: "ops", password: "right")
            $0.protocolVersion = .v311
        }
        try await withLink(configuration) { link, recorder in
            let connection = try await recorder.connected()
            #expect(connection.subscriptions.last?.isGranted == true)
            link.publish([OutgoingMessage(1, "closed/echo", "1"), OutgoingMessage(2, "open/echo", "2")])
            // Both are acknowledged on 3.1.1; only one comes back.
            let receipts = try await recorder.settled(2)
            #expect(receipts.allSatisfy { $0.result == .acknowledged })
            let messages = try await recorder.received(1)
            #expect(messages.map(\.topic) == ["open/echo"])
        }
    }
}
