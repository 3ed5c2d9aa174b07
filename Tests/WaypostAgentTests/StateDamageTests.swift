import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// Every damage of the files, and every promise: a start keeps all of them, or it is refused with a sentence.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct `A state directory of which something is damaged or lost` {
    private static let file = Store.fileName
    private static let log = "\(Store.fileName)-wal"
    private static let marker = MarkerFile.name
    private static let command = "waypost/v1/k1/cmd/me"

    /// What an agent left that had a map of revision 8, commands that ended, and replies and reports that wait.
    struct Left: Sendable {
        /// Before the second map and all that waits.
        let older: StateImage
        /// As kill -9 left it: a part is in the file, the newest in its log.
        let killed: StateImage
        /// As a stop left it: all is in the file.
        let stopped: StateImage
        /// Of another agent that was killed, and had less to do.
        let other: StateImage
        /// What the last birth said.
        let epoch: Int64
    }

    /// A damage and the reason for which it is refused; nil when nothing is lost by it.
    struct Damage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let refusal: StoreError.Reason?
        /// Whether the loss that can't be ruled out is reported on `fail`.
        var isReported = false
        let make: @Sendable (Left) throws -> StateImage
    }

    private static func router(_ ran: TestSupport.EventLog<String> = TestSupport.EventLog()) throws -> Router
    {
        let router = Router()
        for name in ["demo", "demo1", "demo2"] {
            try router.register("scheme://router/\(name)", idempotent: true) { request in
                ran.append(request.context.ref ?? "")
                return .opened("white")
            }
        }
        return router
    }

    private static func open(_ id: String) -> String {
        "{\"id\":\"\(id)\",\"type\":\"open\",\"url\":\"scheme://router/demo\"}"
    }

    private static func map(_ revision: Int, _ target: String) -> String {
        "{\"id\":\"m\(revision)\",\"type\":\"map\",\"rev\":\(revision),\"entries\":[{\"routerType\":1,"
            + "\"orginPath\":\"scheme://router/demo\",\"targetPath\":\"scheme://router/\(target)\"}]}"
    }

    private static func epoch(_ harness: AgentHarness) async throws -> Int64 {
        let state = try await harness.document("state") { $0["why"] == "birth" }
        return try #require(state["epoch"]?.intValue)
    }

    /// Made once: each test damages a copy.
    private static let left = Task { try await makeLeft() }

    private static func makeLeft() async throws -> Left {
        let harness = try await AgentHarness(router: router())
        let directory = harness.agent.configuration.stateDirectory
        harness.receive(map(7, "demo1"), on: "waypost/v1/k1/map")
        _ = try await harness.command(open("ended"))
        _ = try await harness.command(#"{"id":"level","type":"log","level":"e","for":3600000}"#)
        try await harness.untilAllIsAcknowledged()
        let older = try StateImage(of: directory)
        // Outside a transaction: what is in the log so far is written into the file.
        try harness.agent.store.read(1) { try $0.database.execute("PRAGMA wal_checkpoint(PASSIVE)") }
        harness.receive(map(8, "demo2"), on: "waypost/v1/k1/map")
        let epoch = try await epoch(harness)
        harness.link.disconnect()
        for number in 0..<4 {
            harness.receive(open("waiting\(number)"), on: command)
            harness.receive("no JSON", on: "waypost/v1/k1/cmd/other\(number)")
        }
        try await harness.until("all on disk") {
            $0.reportsOnDisk == 4 && $0.agent.ledger.shares.total.waiting == 0
        }
        let killed = try StateImage(of: directory)
        try await harness.close()
        let stopped = try StateImage(of: directory)
        let another = try await AgentHarness(router: router())
        _ = try await another.command(open("another"))
        try await another.untilAllIsAcknowledged()
        let other = try StateImage(of: another.agent.configuration.stateDirectory)
        try await another.close()
        for used in [directory, another.agent.configuration.stateDirectory] {
            try? FileManager.default.removeItem(atPath: used)
        }
        return Left(older: older, killed: killed, stopped: stopped, other: other, epoch: epoch)
    }

    // MARK: The promises

    /// Checks all that an agent promises to keep, on what a start makes of a directory.
    private static func checkPromises(_ image: StateImage, of left: Left, isReported: Bool) async throws {
        let ran = TestSupport.EventLog<String>()
        let harness = try await AgentHarness(directory: image.directory, router: router(ran))
        // Results and failures that the broker did not have yet are delivered.
        for number in 0..<4 {
            #expect(try await harness.reply(to: "waiting\(number)").result["value"] == "white")
            _ = try await harness.failure { $0.detail.contains("command of other\(number)") }
        }
        // No known id runs again.
        for id in ["ended", "waiting0", "waiting3"] {
            let count = harness.published.events.count
            harness.receive(open(id), on: command)
            #expect(try await harness.reply(to: id, after: count).result["value"] == "white", "\(id)")
        }
        #expect(ran.events.isEmpty)
        // The last good map is in force, and none before it is taken.
        #expect(harness.agent.router.resolve("scheme://router/demo").url == "scheme://router/demo2")
        harness.receive(map(7, "demo1"), on: "waypost/v1/k1/map")
        _ = try await harness.failure { $0.code == .rollback }
        #expect(harness.agent.router.resolve("scheme://router/demo").url == "scheme://router/demo2")
        // Failures are kept for who asks later, and so is the level that was asked for.
        let failures = try await harness.command(#"{"id":"past","type":"failures","max":50}"#)
        let details = failures.result["failures"]?.arrayValue?.compactMap { $0["detail"]?.stringValue } ?? []
        for number in 0..<4 {
            #expect(details.contains { $0.contains("command of other\(number)") }, "\(details)")
        }
        #expect(try harness.agent.store.commit { try $0.levelOverride() }?.level == .error)
        #expect(try await epoch(harness) > left.epoch)
        if isReported {
            let report = try await harness.failure { $0.code == .disk }
            #expect(report.detail.contains(image.directory))
        } else {
            #expect(harness.agent.store.repairs == [])
        }
        try await harness.close()
    }

    /// Damage that leaves everything, and damage of which one kind at least goes through each way of being refused.
    static let damages =
        [
            Damage(testDescription: "none, after kill -9", refusal: nil) { try $0.killed.copy() },
            Damage(testDescription: "none, after a stop", refusal: nil) { try $0.stopped.copy() },
            Damage(testDescription: "another program wrote the log back and removed it", refusal: nil) {
                let image = try $0.killed.copy()
                #expect(try Database(path: image.path(file)).integer("SELECT count(*) FROM inbox") > 0)
                #expect(!FileManager.default.fileExists(atPath: image.path(log)))
                return image
            },
            Damage(testDescription: "an index in shared memory, of anything", refusal: nil) {
                let image = try $0.killed.copy()
                try image.write([UInt8](repeating: 0x5A, count: 32_768), to: "\(file)-shm")
                return image
            },
            Damage(testDescription: "a frame after the last commit that was cut", refusal: nil) {
                let image = try $0.killed.copy()
                let log = try image.bytes(log)
                try image.write(log + log.suffix(4_120).prefix(3_000), to: Self.log)
                return image
            },
            Damage(testDescription: "the marker is removed", refusal: nil, isReported: true) {
                let image = try $0.killed.copy()
                image.delete(marker)
                return image
            },
            Damage(testDescription: "the marker is cut", refusal: nil, isReported: true) {
                let image = try $0.killed.copy()
                image.cut(marker, at: 20)
                return image
            },
            Damage(
                testDescription: "the marker is of another directory, and longer", refusal: nil,
                isReported: true
            ) {
                let image = try $0.stopped.copy()
                try image.write($0.other.bytes(marker) + [0], to: marker)
                return image
            },
            Damage(testDescription: "the file is removed after a stop", refusal: .lost) {
                let image = try $0.stopped.copy()
                image.delete(file)
                return image
            },
            Damage(testDescription: "the file is removed after kill -9", refusal: .lost) {
                let image = try $0.killed.copy()
                image.delete(file)
                return image
            },
            Damage(testDescription: "the file and its log are removed", refusal: .lost) {
                let image = try $0.killed.copy()
                image.delete(file, log)
                return image
            },
            Damage(testDescription: "the file is emptied after a stop", refusal: .lost) {
                let image = try $0.stopped.copy()
                image.cut(file, at: 0)
                return image
            },
            Damage(testDescription: "the file is emptied after kill -9", refusal: .lost) {
                let image = try $0.killed.copy()
                image.cut(file, at: 0)
                return image
            },
            Damage(testDescription: "file and marker are gone, the log is there", refusal: .lost) {
                let image = try $0.killed.copy()
                image.delete(file, marker)
                return image
            },
            Damage(testDescription: "the file is zeroed", refusal: .corrupt) {
                let image = try $0.stopped.copy()
                try image.zero(file, 0..<(1 << 24))
                return image
            },
            Damage(testDescription: "the header is zeroed", refusal: .corrupt) {
                let image = try $0.stopped.copy()
                try image.zero(file, 0..<100)
                return image
            },
            Damage(testDescription: "the log is removed", refusal: .lost) {
                let image = try $0.killed.copy()
                image.delete(log)
                return image
            },
            Damage(testDescription: "the log is emptied", refusal: .lost) {
                let image = try $0.killed.copy()
                image.cut(log, at: 0)
                return image
            },
            Damage(testDescription: "the log's header is zeroed", refusal: .lost) {
                let image = try $0.killed.copy()
                try image.zero(log, 0..<32)
                return image
            },
            Damage(testDescription: "the log is of another directory", refusal: .lost) {
                let image = try $0.stopped.copy()
                try image.take(log, from: $0.other)
                return image
            },
            Damage(testDescription: "the log is an older one", refusal: .lost) {
                let image = try $0.killed.copy()
                try image.take(log, from: $0.older)
                return image
            },
            Damage(testDescription: "an older copy of file and log", refusal: .lost) {
                let image = try $0.stopped.copy()
                try image.take(file, log, from: $0.older)
                return image
            },
            Damage(testDescription: "file and log of another directory", refusal: .lost) {
                let image = try $0.killed.copy()
                try image.take(file, log, from: $0.other)
                return image
            },
            Damage(testDescription: "a file without a table", refusal: .lost) {
                let image = try $0.stopped.copy()
                image.delete(file)
                try Database(path: image.path(file)).execute("CREATE TABLE t(n); DROP TABLE t")
                return image
            },
            Damage(
                testDescription: "a file of a build before the first release",
                refusal: .olderSchema(found: Schema.first - 1, supported: Schema.first)
            ) {
                let image = try $0.stopped.copy()
                try Database(path: image.path(file)).execute("PRAGMA user_version = \(Schema.first - 1)")
                return image
            },
            Damage(
                testDescription: "a file that a newer version wrote",
                refusal: .newerSchema(found: 99, supported: Schema.version)
            ) {
                let image = try $0.stopped.copy()
                try Database(path: image.path(file)).execute("PRAGMA user_version = 99")
                return image
            },
            Damage(testDescription: "a database of another program", refusal: .foreign) {
                let image = try $0.stopped.copy()
                image.delete(file)
                try Database(path: image.path(file)).execute("CREATE TABLE t(n); PRAGMA application_id = 77")
                return image
            },
            Damage(testDescription: "a database of a program that does not say which", refusal: .foreign) {
                let image = try $0.stopped.copy()
                image.delete(file)
                try Database(path: image.path(file)).execute("CREATE TABLE t(n)")
                return image
            },
            Damage(testDescription: "a rollback journal beside it", refusal: .corrupt) {
                let image = try $0.stopped.copy()
                try image.write([UInt8](repeating: 0xD9, count: 600), to: "\(file)-journal")
                return image
            },
        ]
        + [file, log, "\(file)-shm", "\(file)-journal", marker, StateLock.fileName].flatMap { name in
            ["a directory", "a named pipe", "a symbolic link", "a socket"].map { kind in
                Damage(testDescription: "\(kind) in the place of \(name)", refusal: .foreign) {
                    let image = try $0.stopped.copy()
                    try image.replace(name, by: kind)
                    return image
                }
            }
        }

    @Test(arguments: damages)
    func `keeps every promise, or its start is refused with what to do and changes nothing`(damage: Damage)
        async throws
    {
        let left = try await Self.left.value
        let image = try damage.make(left)
        defer { image.remove() }
        guard let refusal = damage.refusal else {
            return try await Self.checkPromises(image, of: left, isReported: damage.isReported)
        }
        let before = try image.files()
        #expect(!StateInspection.isInUse(directory: image.directory))
        let seen = #expect(throws: StoreError.self) { try StateInspection(directory: image.directory) }
        #expect(try image.files() == before, "looking changed something")
        let error = #expect(throws: StoreError.self) { try Store(directory: image.directory) }
        #expect(error?.reason == refusal, "\(String(describing: error))")
        #expect(try image.files() == before, "the refusal changed something")
        // The doctor says the same, and what to do.
        #expect(seen?.description == error?.description)
        let text = error?.description ?? ""
        #expect(text.hasPrefix(image.directory), "\(text)")
        #expect(["freshState", "move it away", "newer version"].contains { text.contains($0) }, "\(text)")
    }

    // MARK: Cuts and holes

    /// Damages a file at each of the places: everything is there then, or the start is refused.
    private static func sweep(
        _ original: StateImage, _ name: String, at places: [Int],
        _ damage: @escaping @Sendable (StateImage, Int) throws -> Void
    ) async throws {
        let expected = try await offThePool { try original.copy().contents() }
        var refused = 0
        for place in places {
            let found = try await offThePool {
                let image = try original.copy()
                defer { image.remove() }
                try damage(image, place)
                return Result { try image.contents() }
            }
            switch found {
            case .success(let contents):
                #expect(contents == expected, "\(name) at \(place): taken with a loss")
            case .failure(let error):
                #expect((error as? StoreError)?.isLoss == true, "\(name) at \(place): \(error)")
                refused += 1
            }
        }
        #expect(refused > places.count / 4)
    }

    /// The borders of the pages of a file, or of the frames of a log, in bytes.
    private static func borders(_ image: StateImage, _ name: String) throws -> (
        size: Int, step: Int, all: [Int]
    ) {
        let (first, step) = name == log ? (32, 4_120) : (0, 4_096)
        let size = try image.bytes(name).count
        try #require(size > 4 * step)
        return (size, step, Array(stride(from: first, to: size, by: step)))
    }

    @Test(arguments: [(true, file), (false, file), (false, log)])
    func `that was cut anywhere, in the file or in its log, is whole or refused`(
        isStopped: Bool, name: String
    ) async throws {
        let left = try await Self.left.value
        let image = isStopped ? left.stopped : left.killed
        let (size, step, borders) = try Self.borders(image, name)
        var places = [99, 100, size - 1]
        for border in borders { places += [border, border + 1, border + step / 2 + 7] }
        try await Self.sweep(image, name, at: places.filter { $0 < size }) { $0.cut(name, at: $1) }
    }

    @Test(arguments: [(true, file), (false, log)])
    func `of which a page was zeroed is whole or refused`(isStopped: Bool, name: String) async throws {
        let left = try await Self.left.value
        let image = isStopped ? left.stopped : left.killed
        let (_, step, borders) = try Self.borders(image, name)
        try await Self.sweep(image, name, at: borders) { try $0.zero(name, $1..<$1 + step) }
    }

    // MARK: A beginning

    @Test func `goes on after a first start that was cut, with a report where something may be lost`()
        async throws
    {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let store = try Store(directory: NSTemporaryDirectory() + "waypost-first-\(UUID().uuidString)")
        let directory = (store.path as NSString).deletingLastPathComponent
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let first = try StateImage(of: directory)
        defer { first.remove() }
        store.close()
        for (what, isReported, change) in [
            ("only the lock", true, { $0.delete(Self.file, Self.log, Self.marker) }),
            (
                "an empty file", true,
                {
                    $0.delete(Self.log, Self.marker); $0.cut(Self.file, at: 0)
                }
            ),
            ("no table", true, { $0.delete(Self.log, Self.marker) }),
            ("no marker", false, { $0.delete(Self.marker) }),
            ("an empty marker", false, { $0.cut(Self.marker, at: 0) }),
        ] as [(String, Bool, (StateImage) -> Void)] {
            let image = try first.copy()
            defer { image.remove() }
            change(image)
            let gap = try StateInspection(directory: image.directory).gap
            #expect((gap != nil) == isReported, "\(what): \(gap ?? "-")")
            let harness = try await AgentHarness(directory: image.directory, router: Self.router())
            if isReported {
                #expect(harness.agent.store.repairs == [gap])
                _ = try await harness.failure { $0.code == .disk && $0.detail == gap }
            } else {
                #expect(harness.agent.store.repairs == [])
            }
            // Nothing of an earlier directory of this agent is above it.
            #expect(try await Self.epoch(harness) > now, "\(what)")
            try await harness.close()
            // It is reported once.
            #expect(try Store(directory: image.directory).repairs == [], "\(what)")
        }
    }

    @Test func `of a new directory the epoch is above all of a directory that was thrown away`() async throws
    {
        let first = try await AgentHarness(router: Self.router())
        let before = try await Self.epoch(first)
        try await first.close()
        let second = try await AgentHarness(router: Self.router())
        #expect(try await Self.epoch(second) > before)
        try await second.close()
    }

    @Test func `that rose on a full disk is below the first one after a restart`() async throws {
        let directory = NSTemporaryDirectory() + "waypost-epoch-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let first = try await AgentHarness(directory: directory, router: Self.router())
        let stored = try await Self.epoch(first)
        // From now on nothing can be stored.
        first.agent.store.close()
        for _ in 0..<5 {
            first.link.disconnect()
            first.link.connect(sessionPresent: true)
        }
        let last = first.agent.presence.epoch
        #expect(last == stored + 5)
        try await first.close()
        let second = try await AgentHarness(directory: directory, router: Self.router())
        #expect(try await Self.epoch(second) > last)
        try await second.close()
    }

    // MARK: On purpose

    @Test func `is set aside when told to, with a report and an epoch above all earlier ones`() async throws {
        let left = try await Self.left.value
        for (what, damage) in [
            ("removed", { $0.delete(Self.file, Self.log) }),
            ("without its log", { $0.delete(Self.log) }),
            ("no database", { $0.cut(Self.file, at: 50) }),
        ] as [(String, (StateImage) -> Void)] {
            let image = try left.killed.copy()
            defer { image.remove() }
            damage(image)
            // Its clock may have been ahead.
            guard case .intact(var marker) = try MarkerFile.read(directory: image.directory) else {
                Issue.record("there is no marker")
                return
            }
            marker.epoch = 1 << 52
            try image.write(marker.bytes, to: Self.marker)
            let harness = try await AgentHarness(directory: image.directory, router: Self.router()) {
                $0.freshState = true
            }
            let report = try await harness.failure { $0.code == .disk }
            #expect(report.detail.contains("renamed to") && report.detail.contains("forgotten"), "\(what)")
            #expect(try await Self.epoch(harness) > 1 << 52, "\(what)")
            #expect(try await harness.command(Self.open("new")).code == .ok)
            try await harness.close()
            let again = try Store(directory: image.directory)
            #expect(again.repairs == [])
            again.close()
        }
    }

    @Test func `which another program has open is refused, and can be used after that`() async throws {
        let directory = NSTemporaryDirectory() + "waypost-busy-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try Store(directory: directory).close()
        var other: Database? = try Database(path: "\(directory)/\(Self.file)")
        try other?.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
        // It waits some seconds for the other one.
        let error = await #expect(throws: StoreError.self) {
            try await offThePool { try Store(directory: directory) }
        }
        #expect(error?.reason == .busy, "\(String(describing: error))")
        #expect(error?.description.contains("another program") == true)
        other = nil
        try Store(directory: directory).close()
    }
}

extension StateImage {
    /// Puts something that is no file in a file's place.
    fileprivate func replace(_ name: String, by kind: String) throws {
        delete(name)
        switch kind {
        case "a directory":
            try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: false)
        case "a named pipe": #expect(mkfifo(path(name), 0o600) == 0)
        case "a symbolic link":
            try write([1, 2, 3], to: "target")
            #expect(symlink(path("target"), path(name)) == 0)
        default: #expect(mknod(path(name), S_IFSOCK | 0o600, 0) == 0)
        }
    }

    /// What lies in the directory; SQLite makes an empty log, which says nothing.
    fileprivate func files() throws -> [String: [UInt8]] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        let all = try names.map { name in
            let isFile = try StateFile.kind(of: path(name)) == .file
            return (name, isFile ? try bytes(name) : Array("no file".utf8))
        }
        return Dictionary(uniqueKeysWithValues: all.filter { !$0.1.isEmpty })
    }
}
