import Foundation
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// Whoever brings a device up to date keeps what is on it.
@Suite(.timeLimit(.minutes(60))) struct `Released state files` {
    private let directory = NSTemporaryDirectory() + "waypost-released-\(UUID().uuidString)"

    @Test(.enabled(if: ProcessInfo.processInfo.environment["WAYPOST_WRITE_STATE"] != nil))
    func `are written for a new schema`() async throws {
        try await ReleasedState.write()
        #expect(try Store(directory: directory).repairs == [])
    }

    @Test(arguments: ReleasedState.all)
    func `go on with every command, reply, report and map`(_ state: ReleasedState) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try state.restore(to: directory)
        #expect(try StateInspection(directory: directory).gap == nil)
        let epoch = try Database(path: "\(directory)/\(Store.fileName)").integer(
            "SELECT value FROM meta WHERE key = 'epoch'")
        let harness = try await ReleasedState.harness(in: directory)
        #expect(harness.agent.store.repairs == [])
        #expect(harness.agent.presence.epoch > epoch)
        // What was open is closed, each as it stood.
        #expect(try await harness.reply(to: "finished").result["value"] == "a")
        #expect(try await harness.reply(to: "missed").code == .noRoute)
        #expect(try await harness.reply(to: "started").code == .interrupted)
        let waiting = try await harness.reply(to: "waiting")
        #expect(waiting.result["value"] == "b", "\(waiting)")
        #expect(try await harness.failure { $0.code == .noRoute }.code == .noRoute)
        // What had ended is remembered.
        let again = try await harness.command(#"{"id":"acknowledged","type":"open","url":"app://a"}"#)
        #expect(again.isDuplicate && again.code == .ok)
        // What is in force stays so, and an older map is refused as before.
        #expect(harness.agent.router.resolve("app://x").url == "app://b")
        let maps = try await harness.command(#"{"id":"maps","type":"maps","history":true}"#)
        #expect(maps.result["history"]?.arrayValue?.map { $0["rev"] } == [2, 1])
        harness.receive(#"{"id":"m0","type":"map","rev":1,"entries":[]}"#, on: "waypost/v1/k1/map")
        _ = try await harness.failure { $0.code == .rollback }
        try await harness.close()
    }

    @Test(arguments: ReleasedState.all)
    func `that are older than their marker are refused`(_ state: ReleasedState) throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try state.restore(to: directory, lostCommits: 1)
        let error = #expect(throws: StoreError.self) { try Store(directory: directory) }
        #expect(error?.reason == .lost)
        #expect(error?.detail.contains("had been stored") == true, "\(error as Any)")
    }

    // Otherwise devices would have tables that no test has seen.
    @Test func `have the tables that a new file has`() throws {
        let released = directory + "-released"
        defer { for folder in [directory, released] { try? FileManager.default.removeItem(atPath: folder) } }
        try PreparedState.create(in: directory)
        try ReleasedState(schema: Schema.version).restore(to: released)
        let tables = try [directory, released].map { folder in
            try Database(path: "\(folder)/\(Store.fileName)").rows(
                """
                SELECT t.name || '(' || group_concat(c.name || ' ' || c.type || c."notnull" || c.pk) || ')' AS shape
                FROM sqlite_schema AS t, pragma_table_info(t.name) AS c GROUP BY t.name ORDER BY t.name
                """
            ) { $0.text("shape") }
        }
        #expect(tables[0] == tables[1])
        #expect(tables[0].count > 8)
    }

    @Test func `become those of a later schema step by step, or stay as they are`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try ReleasedState(schema: Schema.first).restore(to: directory)
        let path = "\(directory)/\(Store.fileName)"
        let db = try Database(path: path)
        let steps = [
            "ALTER TABLE meta ADD COLUMN extra INTEGER; UPDATE meta SET extra = row_digest(key)",
            "ALTER TABLE meta RENAME COLUMN extra TO other",
        ]
        func step(_ steps: [String]) throws {
            try db.transact { try Schema.migrate(db, path: path, by: steps) }
        }
        let wrong = [steps[0], "ALTER TABLE none ADD COLUMN n"]
        let error = #expect(throws: StoreError.self) { try step(wrong) }
        #expect(error?.detail.contains("from schema \(Schema.first + 1) to \(Schema.first + 2)") == true)
        #expect(try db.integer("PRAGMA user_version") == Schema.first)
        try step([steps[0]])
        #expect(try db.integer("SELECT count(*) FROM meta WHERE extra IS NULL") == 0)
        try step(steps)
        #expect(try db.integer("PRAGMA user_version") == Schema.first + 2)
        #expect(try db.integer("SELECT count(other) FROM meta") > 0)
        // A downgrade to a build that knows fewer steps.
        let newer = #expect(throws: StoreError.self) { try step([steps[0]]) }
        #expect(
            newer?.reason == .newerSchema(found: Schema.first + 2, supported: Schema.first + 1),
            "\(newer as Any)")
        #expect(newer?.description.contains("use the newer version") == true)
    }

    @Test func `of builds before the first release are refused, and set aside when told to`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try PreparedState.create(in: directory) {
            try $0.execute("PRAGMA user_version = \(Schema.first - 1)")
        }
        let error = #expect(throws: StoreError.self) { try Store(directory: directory) }
        #expect(error?.reason == .olderSchema(found: Schema.first - 1, supported: Schema.first))
        #expect(error?.description.contains("freshState") == true)
        #expect(error?.wording.shell.contains("--fresh-state") == true)
        let store = try Store(directory: directory, fresh: true)
        #expect(store.repairs.first?.contains("before the first release") == true)
        store.close()
    }
}
