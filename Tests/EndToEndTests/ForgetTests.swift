import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct ForgetTests {
    @Test func `what a retired agent left is removed, and nothing of another`() async throws {
        let site = try await Site.open()
        let old = try RunningAgent("k2", broker: site.broker.url, arguments: ["--demo"])
        try await old.online()
        let map = try ScratchFile(#"{"type":"map","rev":1,"entries":[]}"#, name: "map.json")
        #expect(try await site.run("relocate", "--agent", "k2", "--file", map.path, "--yes").status == 0)
        let online = try await site.run("forget", "k2", "--yes")
        #expect(online.status == 1)
        #expect(online.errorLines.first?.contains("k2 is online; stop it before it is forgotten") == true)
        #expect(try await old.terminate() == 0)

        // There is no terminal to ask on.
        let unasked = try await site.run("forget", "k2")
        #expect(unasked.status == 64 && unasked.errorLines.first?.contains("use --yes") == true)
        let forgotten = try await site.run("forget", "k2", "--yes", "--json")
        #expect(forgotten.status == 0, "\(forgotten)")
        let json = try JSONValue(parsing: forgotten.output[0])
        let topics = json["removed"]?.arrayValue?.compactMap(\.stringValue) ?? []
        #expect(topics.contains("waypost/v1/k2/state") && topics.contains("waypost/v1/k2/map"), "\(topics)")
        #expect(json["left"] == [])
        let agents = try await site.run("agents", "--json")
        #expect(agents.output.count == 1 && agents.output[0].contains(#""agent":"k1""#))
        let again = try await site.run("forget", "k2", "--yes")
        #expect(again.status == 3)
        #expect(
            again.errorLines.first?.contains("there is no agent k2 at this broker; did you mean k1?") == true)
        #expect(try await site.run("ping", "--agent", "k1").status == 0)
    }
}
