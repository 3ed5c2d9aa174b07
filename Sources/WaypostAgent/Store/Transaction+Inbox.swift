import WaypostMessages

extension Store.Transaction {
    /// States in which a command has no result; an unknown one is a damaged one, and is looked at too.
    ///
    /// Not as a list: SQLite would make a table of it for each statement that runs.
    private static let isOpen = "state <> 'finished' AND state <> 'acknowledged' AND state <> 'damaged'"
    private static let insert = """
        INSERT INTO inbox(seq, topic, id, digest, payload, correlation, trace, received, expires, keep_until,
            row_digest, state, attempt, reply, reply_digest, acknowledged, stored)
        VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(topic, id) DO NOTHING
        """
    private static let start =
        "UPDATE inbox SET stored = ?, state = 'started', attempt = ?, started = ? WHERE seq = ? AND \(isOpen)"
    private static let move = """
        UPDATE inbox SET stored = ?, state = ?
        WHERE seq = ? AND (state = 'received' OR state = 'scheduled' OR state = 'held' OR state = 'resumed')
        """
    private static let finish = """
        UPDATE inbox SET stored = ?, state = 'finished', reply = ?, reply_digest = ?, attempt = ?, payload = NULL
        WHERE seq = ? AND \(isOpen)
        """

    private static let byKey = "SELECT * FROM inbox WHERE topic = ? AND id = ?"

    /// Stores a command; returns its row, or nil when its key, topic and id, is there already.
    func receive(_ command: NewCommand) throws -> Int64? {
        try receive(command, result: nil, database.statement(Self.insert))
    }

    /// Stores new commands, each with its result when it has one by now.
    func receive(_ commands: [NewCommand], results: [Int64: InboxResult]) throws {
        guard !commands.isEmpty else { return }
        let insert = try database.statement(Self.insert)
        for command in commands {
            _ = try receive(command, result: command.sequence.flatMap { results[$0] }, insert)
        }
    }

    private func receive(_ command: NewCommand, result: InboxResult?, _ insert: Statement) throws -> Int64? {
        let state: InboxState =
            result.map { $0.acknowledged == nil ? .finished : .acknowledged }
            ?? (command.isScheduled ? .scheduled : .received)
        try insert.run(
            [
                command.sequence.map { .integer($0) } ?? .null, .text(command.topic), .text(command.id),
                .blob(command.digest), result == nil ? .blob(command.payload) : .null,
                .init(command.correlation), .init(command.trace), .integer(command.received),
                .integer(command.expires), .integer(command.keepUntil), .integer(command.rowDigest),
                .text(state.rawValue),
                .integer(Int64(result?.attempt ?? command.earlierStarts)), .init(result?.reply),
                result.map { .integer(InboxRecord.replyDigest($0.sequence, $0.reply)) } ?? .null,
                result?.acknowledged.map { .integer($0) } ?? .null, stamp,
            ])
        guard database.changes == 1 else { return nil }
        number?.stampedRows()
        return command.sequence ?? database.lastInsertedRow
    }

    private var stamp: SQLValue { number?.stamp ?? .null }

    /// Changes rows by a statement that gives them the stamp.
    private func change(_ sql: String, _ values: [SQLValue]) throws {
        try database.run(sql, values)
        if database.changes > 0 { number?.stampedRows() }
    }

    /// The largest row number, but for one that only the disk can have made; 0 when there is no row.
    func lastSequence() throws -> Int64 {
        max(0, Int64(try database.integer("SELECT max(seq) FROM inbox WHERE seq < \(Int64.max / 2)")))
    }

    /// What is stored of a command; nil when it never came, or was forgotten.
    func known(_ topic: String, _ id: String) throws -> KnownCommand? {
        try database.row(Self.byKey, [.text(topic), .text(id)]) { row in
            let record = InboxRecord(row, isPayloadRead: false)
            return KnownCommand(
                sequence: record.sequence, digest: CommandDigest(stored: row.bytes("digest") ?? []),
                reply: record.reply, isDamaged: record.damage != nil || record.state == .damaged)
        }
    }

    /// How a command went so far; nil when it never came, or was forgotten.
    func timeline(topic: String, id: String) throws -> CommandTimeline? {
        try database.row(Self.byKey, [.text(topic), .text(id)], CommandTimeline.init)
    }

    /// Commands on these topics that have no result, in order of arrival.
    func eachPending(
        on topics: [String], _ each: (_ topic: String, _ id: String, CommandTimeline) -> Void
    ) throws {
        let marks = topics.map { _ in "?" }.joined(separator: ", ")
        try database.eachRow(
            "SELECT * FROM inbox WHERE topic IN (\(marks)) AND \(Self.isOpen) ORDER BY seq",
            topics.map(SQLValue.text)
        ) { row in
            each(row.text("topic"), row.text("id"), CommandTimeline(row))
            return true
        }
    }

    /// Stores a step of a command, unless it has ended by now.
    func step(_ sequence: Int64, _ step: InboxStep, at time: Int64) throws {
        switch step {
        case .started(let attempt):
            try change(Self.start, [stamp, .integer(Int64(attempt)), .integer(time), .integer(sequence)])
        case .held: try move(sequence, to: .held)
        case .resumed: try move(sequence, to: .resumed)
        case .due: try move(sequence, to: .received)
        case .scheduled: try move(sequence, to: .scheduled)
        }
    }

    /// Only between the states in which its handler may still begin.
    private func move(_ sequence: Int64, to state: InboxState) throws {
        try change(Self.move, [stamp, .text(state.rawValue), .integer(sequence)])
    }

    /// Stores the terminal reply; the payload is not needed any more.
    func finish(_ result: InboxResult) throws {
        let digest = InboxRecord.replyDigest(result.sequence, result.reply)
        try change(
            Self.finish,
            [
                stamp, .blob(result.reply), .integer(digest), .integer(Int64(result.attempt)),
                .integer(result.sequence),
            ])
    }

    /// The broker has these replies.
    func acknowledge(_ sequences: [Int64], at time: Int64) throws {
        // Most come in the order of their commands: one statement for each run of numbers.
        var rest = sequences.sorted()[...]
        while let first = rest.popFirst() {
            var last = first
            while rest.first == last &+ 1 { last = rest.removeFirst() }
            try change(
                """
                UPDATE inbox SET stored = ?, state = 'acknowledged', acknowledged = ?
                WHERE seq BETWEEN ? AND ? AND state = 'finished'
                """,
                [stamp, .integer(time), .integer(first), .integer(last)])
        }
    }

    /// These replies must be sent again, since their commands came again.
    func reopen(_ sequences: [Int64]) throws {
        for sequence in sequences {
            try change(
                "UPDATE inbox SET stored = ?, state = 'finished' WHERE seq = ? AND state = 'acknowledged'",
                [stamp, .integer(sequence)])
        }
    }

    /// Stores another reply in the place of one that no broker takes, or that the disk changed.
    func replaceReply(_ sequence: Int64, with reply: [UInt8]) throws {
        try change(
            "UPDATE inbox SET stored = ?, reply = ?, reply_digest = ? WHERE seq = ? AND state = 'finished'",
            [stamp, .blob(reply), .integer(InboxRecord.replyDigest(sequence, reply)), .integer(sequence)])
    }

    /// Keeps a damaged row from being read again; its id stays known.
    func setAside(command sequence: Int64) throws {
        try change(
            "UPDATE inbox SET stored = ?, state = 'damaged' WHERE seq = ?", [stamp, .integer(sequence)])
    }

    /// The keys of all commands as the index has them: a second copy, in other pages of the file.
    func indexedKeys() throws -> [(sequence: Int64, topic: String, id: String)] {
        try database.rows("SELECT seq, topic, id FROM inbox INDEXED BY inbox_key") {
            ($0.integer("seq"), $0.text("topic"), $0.text("id"))
        }
    }

    /// Writes back the keys of rows that no longer fit their digest, or that are gone: such a command stays known.
    func restore(_ keys: [(sequence: Int64, topic: String, id: String)]) throws {
        for (sequence, topic, id) in keys {
            let isDamaged = try database.row("SELECT * FROM inbox WHERE seq = ?", [.integer(sequence)]) {
                ($0.text("topic") != topic || $0.text("id") != id)
                    && InboxRecord($0, isPayloadRead: false).damage == .row
            }
            switch isDamaged {
            case false?: break
            case true?:
                try database.run(
                    "UPDATE OR IGNORE inbox SET topic = ?, id = ? WHERE seq = ?",
                    [.text(topic), .text(id), .integer(sequence)])
            case nil:
                try database.run(
                    """
                    INSERT OR IGNORE INTO inbox(seq, topic, id, digest, received, expires, keep_until,
                        row_digest, state)
                    VALUES(?, ?, ?, x'', 0, 0, (SELECT max(keep_until) FROM inbox), 0, 'damaged')
                    """,
                    [.integer(sequence), .text(topic), .text(id)])
            }
        }
    }

    /// Commands that have no result, in order of arrival: those after `sequence`, and up to `last`, that make `bytes`.
    func unfinished(
        after sequence: Int64 = 0, through last: Int64 = .max, bytes: Int = .max
    ) throws -> [InboxRecord] {
        var records: [InboxRecord] = []
        var size = 0
        try database.eachRow(
            "SELECT * FROM inbox WHERE seq > ? AND seq <= ? AND \(Self.isOpen) ORDER BY seq",
            [.integer(sequence), .integer(last)]
        ) { row in
            let record = InboxRecord(row)
            records.append(record)
            size += 128 + record.payload.count
            return size < bytes
        }
        return records
    }

    /// Commands with a result whose reply the broker does not have yet, in order of arrival.
    ///
    /// The first that have `bytes` together, one at least, without those of the given sequence numbers; `isAll` when there
    /// are no others.
    ///
    /// - Parameter isWanted: whether those to the commands on a topic are looked for.
    func unsentReplies(
        excluding known: Set<Int64>, bytes: Int, where isWanted: (_ topic: String) -> Bool = { _ in true }
    ) throws -> (records: [InboxRecord], isAll: Bool) {
        var records: [InboxRecord] = []
        var (size, isAll) = (0, true)
        try database.eachRow("SELECT * FROM inbox WHERE state = 'finished' ORDER BY seq") { row in
            guard !known.contains(row.integer("seq")), isWanted(row.text("topic")) else { return true }
            let record = InboxRecord(row)
            size += 128 + (record.reply?.count ?? 0)
            isAll = records.isEmpty || size <= bytes
            if isAll { records.append(record) }
            return isAll
        }
        return (records, isAll)
    }

    /// The topics of the commands whose replies the broker does not have yet.
    func topicsOfUnsentReplies() throws -> [String] {
        try database.rows("SELECT DISTINCT topic FROM inbox WHERE state = 'finished'") { $0.text("topic") }
    }

    /// A command that was held, or went on after that, is one of its lane again: each start begins again.
    func requeue(_ sequence: Int64) throws { try move(sequence, to: .received) }

    /// A command whose time had come waits for the next one, since it could not begin.
    func putOff(_ sequence: Int64) throws { try move(sequence, to: .scheduled) }

    /// Counts a start of these commands, before they are started.
    func countAttempt(of sequences: [Int64]) throws {
        for sequence in sequences {
            try change(
                "UPDATE inbox SET stored = ?, attempt = attempt + 1 WHERE seq = ?",
                [stamp, .integer(sequence)])
        }
    }

    // MARK: How much there is

    private static var use: String {
        "SELECT topic, count(*) AS n, sum(ifnull(length(payload), 0) + ifnull(length(reply), 0)) AS bytes FROM inbox"
    }

    private func uses(_ sql: String, _ values: [SQLValue] = []) throws -> [InboxUsage] {
        try database.rows(sql, values) {
            InboxUsage(
                topic: $0.text("topic"), rows: Int(clamping: $0.integer("n")),
                bytes: Int(clamping: $0.integer("bytes")))
        }
    }

    /// The rows of each topic; the bytes are those of payloads and replies.
    func inboxUse() throws -> [InboxUsage] { try uses("\(Self.use) GROUP BY +topic") }

    /// Commands without a result, each by itself: its row, its topic, the bytes of its payload, and whether it waits for its
    /// time.
    func unfinishedSizes() throws -> [(sequence: Int64, topic: String, bytes: Int, isScheduled: Bool)] {
        try database.rows(
            "SELECT seq, topic, state, length(payload) AS bytes FROM inbox WHERE \(Self.isOpen)"
        ) {
            (
                $0.integer("seq"), $0.text("topic"), Int(clamping: $0.integer("bytes")),
                $0.text("state") == InboxState.scheduled.rawValue
            )
        }
    }

    /// When the first id of these topics is forgotten; nil when there is none.
    func firstEnd(of topics: [String]) throws -> Int64? {
        let marks = topics.map { _ in "?" }.joined(separator: ", ")
        return try database.row(
            "SELECT min(keep_until) AS first FROM inbox WHERE topic IN (\(marks))", topics.map(SQLValue.text)
        ) { $0.optionalInteger("first") } ?? nil
    }

    /// Forgets commands that have ended and whose time of recognition is over, looking at no more than `limit` rows
    /// after `sequence`.
    func forgetEnded(after sequence: Int64, at now: Int64, limit: Int) throws -> PurgeResult {
        let last =
            try database.row(
                "SELECT max(seq) AS last FROM (SELECT seq FROM inbox WHERE seq > ? ORDER BY seq LIMIT ?)",
                [.integer(sequence), .integer(Int64(limit))]
            ) { $0.optionalInteger("last") } ?? nil
        guard let last else { return PurgeResult(removed: [], next: nil) }
        let range = [SQLValue.integer(sequence), .integer(last), .integer(now)]
        let ended =
            "WHERE seq > ? AND seq <= ? AND state IN ('acknowledged', 'damaged') AND keep_until < ?"
        let removed = try uses("\(Self.use) \(ended) GROUP BY topic", range)
        try database.run("DELETE FROM inbox \(ended)", range)
        if database.changes > 0 { number?.removedRows() }
        return PurgeResult(removed: removed, next: last)
    }

    /// Returns pages that hold nothing to the file system, some at a time, once they are the larger part.
    func incrementalVacuum() throws {
        let free = try database.integer("PRAGMA freelist_count")
        let all = try database.integer("PRAGMA page_count")
        guard free > 1_000, free > all / 2 else { return }
        // A row for each page, as it were: a statement that is run once would return one page.
        try database.execute("PRAGMA incremental_vacuum(4000)")
    }
}
