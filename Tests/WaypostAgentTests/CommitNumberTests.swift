import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// Where the number of a commit stands, and that it is never lost without a word.
@Suite struct `The number of a commit` {
    private static let log = "\(Store.fileName)-wal"

    /// A store in a directory of its own, with commands that it has stored.
    private struct Used {
        let directory = NSTemporaryDirectory() + "waypost-number-\(UUID().uuidString)"
        let store: Store

        init(commands: Int = 0, logPages: Int = Store.usualLogPages) throws {
            store = try Store(directory: directory, logPages: logPages)
            for number in 0..<commands { try receive("c\(number)") }
        }

        func receive(_ id: String) throws {
            let payload = [UInt8](repeating: 7, count: 200)
            _ = try store.commit {
                try $0.receive(
                    NewCommand(
                        topic: "waypost/v1/k1/cmd/me", id: id, digest: SHA256.digest(of: payload),
                        payload: payload, received: 10, expires: 20, keepUntil: 30))
            }
        }

        func start(_ sequence: Int64) throws {
            // A row that stays as it is would be no change of its page.
            try store.commit { try $0.step(sequence, .started(attempt: 1), at: Int64(store.commitCount)) }
        }

        func finish(_ sequence: Int64) throws {
            try store.commit { try $0.finish(InboxResult(sequence: sequence, attempt: 1, reply: [7])) }
        }

        func acknowledge(_ sequences: [Int64]) throws {
            try store.commit { try $0.acknowledge(sequences, at: 12) }
        }

        /// As kill -9 would leave it now.
        func image() throws -> StateImage { try StateImage(of: directory) }

        /// The number that stands in the marker's row, or in that and in the rows of the inbox.
        func number(isInRow: Bool) throws -> Int64? {
            try store.read(1) {
                isInRow
                    ? Int64(try $0.database.integer("SELECT commits FROM marker"))
                    : try $0.marker()?.commits
            }
        }

        /// Steps a command until the log begins anew.
        func untilLogBeginsAnew() throws {
            var pages = 0
            repeat {
                pages = try image().commits().joined().count
                try store.commit { try $0.step(1, pages % 2 == 0 ? .held : .resumed, at: 11) }
            } while try image().commits().joined().count > pages
        }
    }

    private func error(of image: StateImage) -> StoreError? {
        defer { image.remove() }
        return #expect(throws: StoreError.self) { try Store(directory: image.directory) }
    }

    // MARK: The pages

    // With the marker's row in each commit there was a third page: 12 % more time for each command.
    @Test func `is in the rows of the inbox that a commit changes anyway, and costs no page`() throws {
        let used = try Used(commands: 2)
        let before = try used.image().commits().count
        try used.receive("next")
        try used.start(1)
        try used.finish(1)
        try used.acknowledge([1])
        // The table and its index; then the table alone.
        #expect(try used.image().commits().dropFirst(before).map(\.count) == [2, 1, 1, 1])
        let stored = try used.number(isInRow: false)
        #expect(try used.number(isInRow: true) ?? 0 == (stored ?? 0) - 6)
        // In nothing of the inbox.
        try used.store.commit { try $0.setNumber("n", 1) }
        #expect(try used.number(isInRow: true) == (stored ?? 0) + 1)
    }

    @Test func `costs an agent no page for a command`() async throws {
        let router = Router()
        try router.register("scheme://router/demo", idempotent: false) { _ in .opened("white") }
        let harness = try await AgentHarness(router: router)
        let directory = harness.agent.configuration.stateDirectory
        func command(_ id: Int) async throws {
            _ = try await harness.command(#"{"id":"\#(id)","type":"open","url":"scheme://router/demo"}"#)
            try await harness.untilAllIsAcknowledged()
        }
        try await command(0)
        let before = try StateImage(of: directory).commits().count
        for id in 1...8 { try await command(id) }
        let commits = try StateImage(of: directory).commits().dropFirst(before)
        #expect(commits.count >= 8 && commits.allSatisfy { $0.count <= 2 }, "\(Array(commits))")
        try await harness.close()
    }

    // MARK: What is lost

    @Test(arguments: ["a step", "a result", "an acknowledgement", "a command"])
    func `is missed when the log lost the last commit`(_ last: String) throws {
        let used = try Used(commands: 3)
        try used.finish(2)
        switch last {
        case "a step": try used.start(1)
        case "a result": try used.finish(1)
        case "an acknowledgement": try used.acknowledge([2])
        default: try used.receive("next")
        }
        let image = try used.image()
        let whole = try image.copy()
        defer { whole.remove() }
        #expect(try Store(directory: whole.directory).repairs == [])
        image.cut(Self.log, at: try image.bytes(Self.log).count - 100)
        let error = error(of: image)
        #expect(error?.reason == .lost)
        #expect(error?.detail.contains("commit 5, but commit 6 had been stored") == true, "\(error as Any)")
    }

    @Test(arguments: [true, false])
    func `is kept when the newest commands are forgotten`(isAtOnce: Bool) throws {
        let used = try Used(commands: 3)
        for sequence in 1...3 as ClosedRange<Int64> { try used.finish(sequence) }
        if !isAtOnce { try used.acknowledge([1, 2, 3]) }
        let before = try used.number(isInRow: false)
        let forgotten = try used.store.commit {
            if isAtOnce { try $0.acknowledge([1, 2, 3], at: 12) }
            return try $0.forgetEnded(after: 0, at: 31, limit: 10)
        }
        #expect(forgotten.removed.map(\.rows) == [3])
        #expect(try used.number(isInRow: false) == (before ?? 0) + 1)
        let image = try used.image()
        defer { image.remove() }
        #expect(try Store(directory: image.directory).repairs == [])
    }

    @Test func `is that of another state file in a log that holds a few of its commits`() throws {
        let (used, other) = (try Used(commands: 3), try Used(commands: 3, logPages: 20))
        used.store.close()
        try other.untilLogBeginsAnew()
        for commits in [1, 3] {
            while try other.image().commits().count < commits { try other.start(2) }
            let image = try used.image()
            let from = try other.image()
            defer { from.remove() }
            #expect(try from.commits().count == commits)
            try image.take(Self.log, from: from)
            let error = error(of: image)
            #expect(error?.detail.contains("belongs to another state directory") == true, "\(error as Any)")
        }
    }

    // The rows that the older log does not have would say that all is there.
    @Test(arguments: [true, false])
    func `is missed when an older log lies beside a file that all was written to`(isClosed: Bool) throws {
        // So many that the last is in another page than the first.
        let used = try Used(commands: 60, logPages: 20)
        try used.untilLogBeginsAnew()
        let older = try used.image()
        defer { older.remove() }
        try used.start(2)
        // Until all is written back, when nothing begins the log anew after it.
        if isClosed {
            try used.start(60)
            used.store.close()
        } else {
            while try !used.image().isWrittenBack() { try used.start(60) }
        }
        let image = try used.image()
        try image.take(Self.log, from: older)
        #expect(error(of: image)?.reason == .lost)
    }

    // MARK: Damage and older files

    @Test func `is not read from a stamp of which a bit was changed, or of another file`() {
        let marker = StateMarker(identity: Array(1...16), commits: 70_000, epoch: 0)
        func count(_ stamp: Int64, identity: [UInt8] = Array(1...16)) -> Int64 {
            var before = StateMarker(identity: identity, commits: 3, epoch: 0)
            before.count(stamp: stamp)
            return before.commits
        }
        #expect(count(marker.stamp) == 70_000)
        for bit in 0..<64 { #expect(count(marker.stamp ^ 1 << bit) == 3, "bit \(bit)") }
        #expect(count(marker.stamp, identity: Array(2...17)) == 3)
        #expect([0, -1, .min, .max].allSatisfy { count($0) == 3 })
    }

    @Test func `is in no row that has none, until that is changed`() throws {
        let directory = NSTemporaryDirectory() + "waypost-before-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try PreparedState.create(in: directory) { db in
            try db.run(
                """
                INSERT INTO inbox(topic, id, digest, payload, received, expires, keep_until, row_digest, state)
                VALUES('t', 'a', x'01', x'02', 1, 2, 3, 4, 'received')
                """)
        }
        let store = try Store(directory: directory)
        func number() throws -> Int64? { try store.read(1) { try $0.marker()?.commits } }
        #expect(try number() == 1)
        try store.commit { try $0.step(1, .held, at: 1) }
        #expect(try number() == 2)
        #expect(try store.read(1) { try $0.database.integer("SELECT commits FROM marker") } == 1)
    }
}

extension StateImage {
    /// The pages of each commit in the log.
    fileprivate func commits() throws -> [[Int]] {
        let bytes = try bytes("\(Store.fileName)-wal")
        func number(_ place: Int) -> Int { bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
        guard bytes.count > 32 else { return [] }
        var commits: [[Int]] = []
        var pages: [Int] = []
        for frame in stride(from: 32, through: bytes.count - 4_120, by: 4_120) {
            // What is left of the log before this one has another salt.
            guard bytes[frame + 8..<frame + 16] == bytes[16..<24] else { break }
            pages.append(number(frame))
            guard number(frame + 4) > 0 else { continue }
            commits.append(pages)
            pages = []
        }
        return commits
    }

    /// Whether each page in the log is in the file too.
    fileprivate func isWrittenBack() throws -> Bool {
        let alone = try copy()
        let whole = try copy()
        defer {
            alone.remove()
            whole.remove()
        }
        alone.delete("\(Store.fileName)-wal")
        return try [alone, whole].map { image in
            try Store.Transaction(database: Database(path: image.path(Store.fileName))).marker()
        }.reduce(into: Set()) { $0.insert($1?.commits) }.count == 1
    }
}
