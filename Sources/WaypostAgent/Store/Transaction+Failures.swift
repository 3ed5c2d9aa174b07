package import Waypost
package import WaypostMessages

/// One page of the last failures, the newest first: those that make so many bytes, and at least one.
package struct FailurePage: Sendable {
    private let maximum: Int
    private let maximumBytes: Int
    private var bytes = 0
    private var last: Int64?
    private(set) var reports: [JSONValue] = []
    /// Where the next page begins; nil when this is the last one.
    private(set) var next: Int64?
    /// Reports that the disk has changed; they are left out.
    fileprivate(set) var damaged = 0

    package init(_ request: FailureRequest, bytes: Int) {
        maximum = request.maximum
        maximumBytes = bytes
    }

    /// Takes the report before the last one; false when it has to wait for the next page.
    ///
    /// - Parameter place: its number among all that are kept.
    package mutating func take(_ report: JSONValue, bytes: Int, at place: Int64) -> Bool {
        self.bytes += bytes
        guard reports.isEmpty || (reports.count < maximum && self.bytes <= maximumBytes) else {
            next = last
            return false
        }
        reports.append(report)
        last = place
        return true
    }

    package var answer: CommandResult {
        .ok(["failures": .array(reports), "next": .init(next), "damaged": .int(Int64(damaged))])
    }
}

extension Store.Transaction {
    /// Keeps a report for who asks later; one that counts further occurrences takes the place of the earlier.
    func remember(_ report: FailureReport) throws {
        let payload = report.encoded()
        try database.run(
            """
            INSERT INTO failures(id, sender, last, payload, row_digest) VALUES(?, ?, ?, ?, ?)
            ON CONFLICT(id) DO UPDATE SET last = excluded.last, payload = excluded.payload,
                row_digest = excluded.row_digest
            """,
            [
                .text(report.id), .init(report.sender), .integer(report.last), .blob(payload),
                .integer(Self.digest(report.last, payload)),
            ])
    }

    /// Forgets the oldest: those of a sender beyond its share, and those of all beyond the limit.
    func forgetFailures(of senders: Set<String>, share: Int, limit: Int) throws {
        for sender in senders {
            try database.run(
                """
                DELETE FROM failures WHERE seq IN
                    (SELECT seq FROM failures WHERE sender = ? ORDER BY seq DESC LIMIT -1 OFFSET ?)
                """,
                [.text(sender), .integer(Int64(share))])
        }
        try database.run(
            """
            DELETE FROM failures WHERE seq IN
                (SELECT seq FROM failures ORDER BY seq DESC LIMIT -1 OFFSET ?)
            """,
            [.integer(Int64(limit))])
    }

    /// The failures that a request asks for, the newest first: those that make `bytes`, and at least one.
    ///
    /// - Parameter isWanted: whether one is part of the page.
    func failures(
        _ request: FailureRequest, bytes: Int, where isWanted: (FailureReport) -> Bool = { _ in true }
    ) throws -> FailurePage {
        var page = FailurePage(request, bytes: bytes)
        try database.eachRow(
            "SELECT * FROM failures WHERE seq < ? AND last >= ? ORDER BY seq DESC",
            [.integer(request.before), .integer(request.since)]
        ) { row in
            let payload = row.bytes("payload") ?? []
            guard Self.digest(row.integer("last"), payload) == row.integer("row_digest"),
                let json = try? JSONValue(parsing: payload, limits: .trustedFile),
                let report = try? FailureReport(json)
            else {
                page.damaged += 1
                return true
            }
            guard isWanted(report) else { return true }
            return page.take(json, bytes: payload.count, at: row.integer("seq"))
        }
        return page
    }

    private static var droppedKey: String { "dropped_reports" }

    /// How many reports found no space in the outbox and are still to be reported, by sender; nil is those of all.
    func droppedReports() throws -> [String?: Int64] {
        let counts = try text(Self.droppedKey).flatMap { try? JSONValue(parsing: $0).objectValue } ?? [:]
        return counts.reduce(into: [:]) { $0[$1.key.isEmpty ? nil : $1.key] = $1.value.intValue }
    }

    func setDroppedReports(_ counts: [String?: Int64]) throws {
        let members = counts.map { ($0.key ?? "", JSONValue.int($0.value)) }
        let json = JSONValue.object(Dictionary(uniqueKeysWithValues: members))
        try setText(Self.droppedKey, counts.isEmpty ? nil : json.text)
    }

    private static func digest(_ last: Int64, _ payload: [UInt8]) -> Int64 {
        RowDigest.of([.integer(last), .blob(payload)])
    }
}
