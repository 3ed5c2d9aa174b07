import Testing

@testable import WaypostMessages

@Suite struct `Topic names` {
    let topics = Topics.standard

    @Test func `a command's topic names the agent and the sender`() {
        #expect(topics.inbound("waypost/v1/kiosk-7/cmd/ops") == .command(.agent("kiosk-7"), from: "ops"))
        #expect(topics.inbound("waypost/v1/@all/cmd/ops") == .command(.all, from: "ops"))
        #expect(topics.inbound("waypost/v1/@fleet/map") == .map(.group("fleet")))
        #expect(topics.inbound("waypost/v1/kiosk-7/map/patch") == .patch(agent: "kiosk-7"))
        #expect(topics.inbound("waypost/v1/kiosk-7/echo") == .echo(agent: "kiosk-7"))
        #expect(topics.inbound(topics.candidate(of: "fleet")) == .candidate(group: "fleet"))
        #expect(topics.inbound(topics.rollout(of: "all")) == .rollout(group: "all"))
    }

    @Test(arguments: [
        "", "/", "waypost/v1", "waypost/v1/", "waypost/v1//cmd/ops", "waypost/v1/k/cmd/",
        "waypost/v1/k/cmd/a b",
        "waypost/v1/k/cmd/ä", "waypost/v1/k/cmd/a/b", "waypost/v10/k/cmd/a", "waypost/v1/@/map",
        "waypost/v1/@g/map/patch", "waypost/v1/@g/echo", "waypost/v1/k/map/next", "waypost/v1/k/rollout",
        "waypost/v1/@g/rollout/lease", "waypost/v1/@g/rollout/log/3", "waypost/v1/@g/map/next/x",
        "other/v1/k/cmd/a", "waypost/v1/k/cmd/\0",
        "waypost/v1/" + String(repeating: "k", count: 65) + "/cmd/a",
    ])
    func `a topic whose names break the rule is none`(topic: String) {
        #expect(topics.inbound(topic) == nil)
    }

    @Test func `reading a topic and writing it agree`() throws {
        #expect(topics.outbound(topics.reply(of: "k", to: "ops"))?.content == .reply(to: "ops"))
        #expect(topics.outbound(topics.applied(of: "k"))?.content == .applied)
        for level in LogLevel.allCases {
            #expect(topics.outbound(topics.log(of: "k", level: level))?.content == .log(level))
        }
        #expect(topics.outbound(topics.failures(of: "k"))?.content == .failure)
        #expect(topics.outbound(topics.state(of: "k"))?.content == .state)
        #expect(topics.outbound(topics.health(of: "k"))?.content == .health)
        #expect(topics.outbound(topics.routes(of: "k"))?.content == .routes)
        #expect(topics.outbound(topics.contract(of: "k"))?.content == .contract)
        #expect(topics.outbound(topics.navigation(of: "k"))?.content == .navigation)
        #expect(topics.outbound("waypost/v1/k/cmd/a")?.content == nil)
    }

    @Test(arguments: [
        ("", "an empty level"), ("/", "an empty level"), ("a/", "a slash at an end"),
        ("/a", "a slash at an end"),
        ("a//b", "an empty level"), ("a/+/b", "a wildcard"), ("a/#", "a wildcard"), ("a b", "a space"),
        ("a\0b", "a control character"), (String(repeating: "a", count: 201), "longer than 200 bytes"),
        ("$SYS/x", "begins with $"), ("$share/g/x", "begins with $"), ("$", "begins with $"),
    ])
    func `a root below which nothing can be published is refused, with the reason`(
        root: String, reason: String
    ) {
        #expect(Topics(root: root) == nil)
        #expect(Topics.fault(in: root)?.contains(reason) == true)
    }

    @Test(arguments: ["a", "a/b", "a$/b", "a/$b", String(repeating: "a", count: 200)])
    func `a root that is good has no fault`(root: String) {
        #expect(Topics(root: root)?.root == root && Topics.fault(in: root) == nil)
    }

    @Test func `another root carries the same topics`() throws {
        let other = try #require(Topics(root: "fleet/berlin/v1"))
        #expect(other.inbound("fleet/berlin/v1/k/cmd/a") == .command(.agent("k"), from: "a"))
        #expect(other.inbound("waypost/v1/k/cmd/a") == nil)
    }
}
