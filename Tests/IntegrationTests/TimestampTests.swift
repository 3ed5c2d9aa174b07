import Testing
import WaypostMessages

struct TimestampTests {
    @Test(arguments: [
        (Int64(1_795_216_999_123), "2026-11-20T23:23:19.123Z", "20261120-232319"),
        (0, "1970-01-01T00:00:00.000Z", "19700101-000000"),
        (-1, "1970-01-01T00:00:00.000Z", "19700101-000000"),
        (.max, "9999-12-31T23:59:59.999Z", "99991231-235959"),
    ])
    func `a time has one form for events and one for names of files`(
        time: Int64, event: String, file: String
    ) {
        #expect(Timestamp.rfc3339(time) == event)
        #expect(Timestamp.compact(time) == file)
    }

    @Test func `ids of one moment differ, and those of a later one come behind them`() {
        let ids = (0..<100).map { Identifier.ulid(at: 1_795_216_999_000 + $0) }
        #expect(ids == ids.sorted())
        #expect(ids.allSatisfy { $0.utf8.count == 26 && Name.isValid($0) })
        #expect(Set((0..<100).map { _ in Identifier.ulid(at: 7) }).count == 100)
        #expect(Identifier.boot().utf8.count == 8)
    }
}
