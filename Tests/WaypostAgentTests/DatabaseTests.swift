import CSQLite
import Foundation
import Testing

@testable import WaypostAgent

@Suite struct `A database` {
    private let path = NSTemporaryDirectory() + "waypost-database-\(UUID().uuidString)"

    private func filled() throws -> Database {
        let database = try Database(path: path)
        try database.execute("CREATE TABLE t(n INTEGER PRIMARY KEY, v); INSERT INTO t(v) VALUES('a'), ('b')")
        return database
    }

    @Test(arguments: [
        SQLValue.null, .integer(.min), .integer(.max), .integer(0), .text(""), .text("grün\u{0}\n"),
        .blob([]),
        .blob([0, 255, 0]), .text(String(repeating: "é", count: 100_000)),
    ])
    func `gives back the value that it was given`(_ value: SQLValue) throws {
        let database = try filled()
        try database.run("INSERT INTO t(n, v) VALUES(7, ?)", [value])
        #expect(database.lastInsertedRow == 7 && database.changes == 1)
        #expect(try database.row("SELECT v FROM t WHERE n = 7") { $0["v"] } == value)
        #expect(try database.row("SELECT ? AS v", [value]) { $0["v"] } == value)
        try database.add(function: "same") { $0.first ?? .null }
        #expect(try database.row("SELECT same(v) AS v FROM t WHERE n = 7") { $0["v"] } == value)
    }

    @Test func `reads a value of another type as what it can be, and traps on none`() throws {
        let database = try filled()
        let sql =
            "SELECT 1.5 AS fraction, x'ff' AS bytes, x'61' AS letter, 'b' AS text, 3 AS number, NULL AS none"
        let isRead = try database.row(sql) { row in
            #expect(["fraction", "bytes", "letter", "text", "none"].allSatisfy { row.integer($0) == 0 })
            #expect(row.integer("number") == 3)
            #expect(["fraction", "bytes", "number", "none"].allSatisfy { row.optionalText($0) == nil })
            #expect(row.text("letter") == "a" && row.text("text") == "b")
            #expect(row.bytes("text") == [0x62] && row.bytes("bytes") == [0xff] && row.bytes("number") == nil)
            return true
        }
        #expect(isRead == true)
    }

    @Test func `stops at the row that is enough, and the statement can be run again`() throws {
        let database = try filled()
        let select = "SELECT v FROM t ORDER BY n"
        for _ in 0..<2 {
            var seen: [String] = []
            try database.eachRow(select) {
                seen.append($0.text("v"))
                return false
            }
            #expect(seen == ["a"])
        }
        #expect(try database.rows(select) { $0.text("v") } == ["a", "b"])
        // No row is under way any more, which would keep the table from going.
        try database.execute("DROP TABLE t")
    }

    @Test func `takes a transaction back whose body throws, and goes on`() throws {
        struct Stop: Error {}
        let database = try filled()
        #expect(throws: Stop.self) {
            try database.transact {
                try database.run("DELETE FROM t")
                throw Stop()
            }
        }
        #expect(try database.integer("SELECT count(*) FROM t") == 2)
        try database.transact { try database.run("DELETE FROM t WHERE n = 1") }
        #expect(try database.integer("SELECT count(*) FROM t") == 1)
    }

    @Test func `says what is wrong with a statement, a row and a file`() throws {
        let database = try filled()
        func error(_ body: () throws -> Void) -> SQLiteError? {
            do { try body() } catch { return error as? SQLiteError }
            return nil
        }
        #expect(error { try database.run("DELETE FROM missing") }?.message == "no such table: missing")
        #expect(error { try database.execute("DELETE FRM t") }?.primaryCode == SQLITE_ERROR)
        let taken = error { try database.run("INSERT INTO t(n) VALUES(?)", [.integer(1)]) }
        #expect(taken?.code == SQLITE_CONSTRAINT | 6 << 8 && taken?.primaryCode == SQLITE_CONSTRAINT)
        #expect(error { _ = try Database(path: "/nowhere/file") }?.primaryCode == SQLITE_CANTOPEN)
        #expect(
            error { _ = try Database(path: path + "-2", isReadOnly: true) }?.primaryCode == SQLITE_CANTOPEN)
        // The connection is of use all the same.
        #expect(try database.integer("SELECT count(*) FROM t") == 2)
    }

    @Test func `that is open to be read only is not changed`() throws {
        _ = try filled()
        let database = try Database(path: path, isReadOnly: true)
        #expect(try database.integer("SELECT count(*) FROM t") == 2)
        #expect(throws: SQLiteError.self) { try database.run("DELETE FROM t") }
    }

    @Test func `that was checked has no second one for temporary tables in its transactions`() throws {
        let database = try filled()
        #expect(try database.problems(1) == [])
        #expect(try database.rows("PRAGMA database_list") { $0.text("name") } == ["main"])
        // As it would be otherwise.
        try database.execute("PRAGMA integrity_check")
        #expect(try database.rows("PRAGMA database_list") { $0.text("name") } == ["main", "temp"])
    }

    @Test func `that forgets what it keeps in memory has all of it still`() throws {
        let database = try filled()
        for _ in 0..<3 {
            #expect(try database.integer("SELECT count(*) FROM t") == 2)
            database.releaseMemory()
        }
    }
}
