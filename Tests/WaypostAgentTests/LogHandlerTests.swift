import Logging
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `Log lines of the host` {
    private func logger(_ harness: AgentHarness) -> Logger {
        Logger(label: "Orders") { harness.agent.logHandler(label: $0) }
    }

    @Test(arguments: [
        (Logger.Level.trace, LogLevel.verbose), (.debug, .debug), (.info, .info), (.notice, .info),
        (.warning, .warning), (.error, .error), (.critical, .fatal),
    ])
    func `are events of the level that fits`(_ level: Logger.Level, _ expected: LogLevel) async throws {
        let harness = try await AgentHarness { $0.logLevel = "v" }
        logger(harness).log(level: level, "printed")
        let event = try await harness.event { $0.tag == "Orders" }
        #expect(event.level == expected)
        #expect(event.message == "printed")
        #expect(event.isError == (expected >= .error))
    }

    @Test func `carry their metadata, the line's over the logger's, secrets masked`() async throws {
        let harness = try await AgentHarness { $0.redactedKeys = ["cardNumber"] }
        var logger = logger(harness)
        logger[metadataKey: "order"] = "1"
        logger[metadataKey: "table"] = "7"
        logger.info(
            "paid",
            metadata: [
                "order": "2", "cardNumber": "4111 1111", "by": ["token": "t-1", "name": "Ada"],
                "items": ["a", "b"],
            ])
        let event = try await harness.event { $0.tag == "Orders" }
        #expect(
            event.message == "paid by={ name=Ada token=*** } cardNumber=*** items=[a b] order=2 table=7")
    }

    @Test func `below the published level are not made up and not sent`() async throws {
        let harness = try await AgentHarness()
        logger(harness).debug("below")
        logger(harness).info("above")
        let event = try await harness.event { $0.tag == "Orders" }
        #expect(event.message == "above")
    }

    @Test func `are bounded in length, tag and number`() async throws {
        let harness = try await AgentHarness()
        let long = Logger(label: String(repeating: "x", count: 5_000)) {
            harness.agent.logHandler(label: $0)
        }
        long.info("\(String(repeating: "y", count: 100_000))")
        let event = try await harness.event { $0.tag.hasPrefix("xxx") }
        #expect(event.tag.utf8.count <= 64)
        #expect(event.message.utf8.count <= WaypostMessages.LogEvent.maximumMessageBytes)
        for number in 0..<5_000 { long.info("\(number)") }
        #expect(harness.agent.events.dropped > 0)
    }
}
