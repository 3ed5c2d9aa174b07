import Foundation
import MQTTLink
import TestSupport
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// The state file of an agent that was killed at work, as a release wrote it: `States/schema-N.sql`.
///
/// A file belongs to a schema, and is never written again once that is released. For a new schema, run the tests of
/// `Released state files` once with `WAYPOST_WRITE_STATE=1`, and look at the file that they write.
struct ReleasedState: Sendable {
    /// The agent's clock when it was killed: 2100-01-01, so that no build is later.
    static let time: Int64 = 4_102_444_800_000

    let schema: Int

    /// Those of all schemas since the first release.
    static let all = (Schema.first...Schema.version).map(ReleasedState.init)

    private var script: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("States/schema-\(schema).sql")
    }

    /// Puts the file into a directory as it was, with its marker beside it.
    ///
    /// - Parameter lostCommits: how many commits the marker counts that the file does not have.
    func restore(to directory: String, lostCommits: Int64 = 0) throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let db = try Database(path: "\(directory)/\(Store.fileName)")
        try db.execute(String(contentsOf: script, encoding: .utf8))
        guard var marker = try Store.Transaction(database: db).marker() else {
            throw Failure(description: "\(script.path) has no marker")
        }
        marker.commits += lostCommits
        _ = try MarkerFile(directory: directory, marker)
    }

    struct Failure: Error, CustomStringConvertible { let description: String }

    /// A harness whose clock shows ten seconds after the kill, with the routes that the commands of the file open.
    static func harness(in directory: String) async throws -> AgentHarness {
        let clock = TurnedClock()
        clock.advance(time + 10_000 - clock.now)
        return try await AgentHarness(directory: directory, clock: clock, router: router()) {
            $0.limits.watchedFailures = 0
        }
    }

    private static func router() throws -> Router {
        let router = Router()
        try router.register("app://a", idempotent: true) { _ in .opened("a") }
        try router.register("app://b", idempotent: true) { _ in .opened("b") }
        // It goes on until the agent is killed.
        try router.register("app://forever") { _ in
            try await Task.sleep(for: .seconds(3_600))
            return .opened()
        }
        return router
    }

    /// Has an agent do what every file must have, and writes down its tables while it is at work.
    static func write() async throws {
        let clock = TurnedClock()
        clock.advance(time - clock.now)
        let harness = try await AgentHarness(clock: clock, router: router())
        for (revision, target) in [(1, "a"), (2, "b")] {
            harness.receive(
                #"{"id":"m\#(revision)","type":"map","rev":\#(revision),"by":"ops","entries":[{"routerType":1,"#
                    + #""orginPath":"app://x","targetPath":"app://\#(target)"}]}"#,
                on: "waypost/v1/k1/map")
        }
        _ = try await harness.command(#"{"id":"acknowledged","type":"open","url":"app://a"}"#)
        try await harness.untilAllIsAcknowledged()
        harness.link.answer {
            $0.topic.contains("/reply/") || $0.topic.hasSuffix("/fail") ? nil : .acknowledged
        }
        _ = try await harness.command(#"{"id":"finished","type":"open","url":"app://a"}"#)
        _ = try await harness.command(#"{"id":"missed","type":"open","url":"app://nowhere"}"#)
        _ = try await harness.failure { $0.code == .noRoute }
        harness.receive(
            #"{"id":"started","type":"open","url":"app://forever"}"#, on: "waypost/v1/k1/cmd/me")
        let store = harness.agent.store
        let started = "SELECT count(*) FROM inbox WHERE state = 'started'"
        try await harness.until("the start on disk") { _ in
            (try? store.commit { try $0.database.integer(started) }) == 1
        }
        harness.receive(#"{"id":"waiting","type":"open","url":"app://x"}"#, on: "waypost/v1/k1/cmd/me")
        // With a commit of its own, so that the marker's row has its number.
        try store.commit { transaction in
            guard let marker = try transaction.marker() else { throw Failure(description: "no marker") }
            try transaction.save(marker)
        }
        let lines = try store.commit { try dump($0.database) }
        try (lines.joined(separator: "\n") + "\n").write(
            to: ReleasedState(schema: Schema.version).script, atomically: true, encoding: .utf8)
        try await harness.close()
    }

    /// The tables as SQL, in an order that does not change.
    private static func dump(_ db: Database) throws -> [String] {
        let version = try db.integer("PRAGMA user_version")
        var lines = ["PRAGMA application_id = \(Schema.application);", "PRAGMA user_version = \(version);"]
        let parts = try db.rows(
            """
            SELECT type, name, sql FROM sqlite_schema
            WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name
            """
        ) { (type: $0.text("type"), name: $0.text("name"), sql: $0.text("sql")) }
        for part in parts {
            lines.append(part.sql + ";")
            guard part.type == "table" else { continue }
            let columns = try db.rows("SELECT name FROM pragma_table_info('\(part.name)')") {
                $0.text("name")
            }
            let values = columns.map { "quote(\"\($0)\")" }.joined(separator: " || ',' || ")
            lines += try db.rows("SELECT \(values) AS line FROM \(part.name)") {
                "INSERT INTO \(part.name) VALUES(\($0.text("line")));"
            }
        }
        return lines
    }
}
