import Glibc

/// Whether the state file goes on from what was stored in its directory before; it only looks, and changes nothing.
///
/// Without it a state file that is missing, empty, older or another agent's would be one in which nothing was stored
/// yet: ids would run again, and old maps would be taken.
struct StateContinuity: Sendable {
    /// The files that SQLite may read or write, by what is added to the name of the state file.
    static let suffixes = ["", "-wal", "-shm", "-journal"]

    private let path: String
    private let beside: MarkerFile.Content
    /// Whether the state file has any byte.
    private let isThere: Bool
    /// Why a new state file may be begun, though there was one; nil when that is not known.
    private let replaced: String?
    /// Whether an agent was started here before.
    private let wasUsed: Bool

    /// Whether an agent was started here before: then its lock is there.
    ///
    /// - Throws: ``StoreError`` when something that is no file lies in the place of one. It is asked before the first
    ///   file is opened, for a link would be followed, and a named pipe waited for.
    static func wasUsed(_ directory: String) throws(StoreError) -> Bool {
        let names = suffixes.map { Store.fileName + $0 } + [MarkerFile.name, StateLock.fileName]
        for name in names {
            let path = "\(directory)/\(name)"
            guard let kind = try StateFile.kind(of: path), kind != .file else { continue }
            throw StoreError(
                .foreign, path: path, detail: "it must be a file of Waypost's but is \(kind.rawValue)")
        }
        return try StateFile.kind(of: "\(directory)/\(StateLock.fileName)") != nil
    }

    /// Looks at the files before SQLite does, which would delete the log of an empty file and roll back what lies
    /// beside it.
    ///
    /// - Parameters:
    ///   - wasUsed: What ``wasUsed(_:)`` said before the lock was made.
    ///   - replaced: Why a new state file is begun on purpose, as a sentence.
    init(directory: String, wasUsed: Bool, replaced: String? = nil) throws(StoreError) {
        path = "\(directory)/\(Store.fileName)"
        self.wasUsed = wasUsed
        self.replaced = replaced
        beside = try MarkerFile.read(directory: directory)
        let size = try StateFile.size(of: path)
        isThere = (size ?? 0) > 0
        let what = "the state file is \(size == nil ? "missing" : "empty")"
        if isThere {
            try checkHeader()
        } else if try StateFile.size(of: "\(path)-wal") ?? 0 > 0 {
            throw lost("\(what), but its log \(path)-wal is there")
        } else if beside != .missing, replaced == nil {
            throw lost("\(what), but \(MarkerFile.name) shows that it had been in use")
        }
        if beside != .missing, try StateFile.size(of: "\(path)-journal") ?? 0 > 0 {
            throw StoreError(
                .corrupt, path: path,
                detail: "\(path)-journal exists, which Waypost never leaves behind")
        }
    }

    /// Whether nothing was stored here yet, or nothing is left.
    var isEmpty: Bool { !isThere }

    /// The highest epoch that is known beside the state file.
    var epoch: Int64 { if case .intact(let marker) = beside { marker.epoch } else { 0 } }

    /// What may be lost of a state that can be gone on with anyway, as a sentence; nil when nothing is.
    ///
    /// - Throws: ``StoreError`` when something is lost that had been acknowledged, or the file is not this agent's.
    func gap(in db: Database) throws -> String? {
        let version = try db.integer("PRAGMA user_version")
        try Schema.check(version, path)
        if try db.integer("SELECT count(*) FROM sqlite_schema") == 0 { return try gapOfNothing() }
        guard version > 0 else { throw foreign("it has tables, but not Waypost's") }
        // Those of an older version are looked at when they have become these.
        guard try version < Schema.version || Schema.isIntact(db) else {
            throw StoreError(.corrupt, path: path, detail: "its tables have other columns")
        }
        guard let inside = try Store.Transaction(database: db).marker() else {
            throw StoreError(.corrupt, path: path, detail: "its marker is damaged")
        }
        return try gap(after: inside)
    }

    /// What may be lost when there is no state file, or one without anything in it.
    func gapOfNothing() throws(StoreError) -> String? {
        if let replaced { return replaced }
        if beside != .missing { throw lost("it is empty") }
        guard wasUsed || isThere else { return nil }
        return
            "\(path): nothing is stored here, although an agent was started here before: its first start was "
            + "interrupted, or the state file was removed. If it had run commands, they run again when they "
            + "are sent again, and older maps are accepted"
    }

    private func gap(after inside: StateMarker) throws(StoreError) -> String? {
        switch beside {
        case .intact(let marker):
            guard marker.identity == inside.identity else {
                throw lost("this file, or the log beside it, belongs to another state directory")
            }
            guard marker.commits <= inside.commits else {
                throw lost(
                    "this file ends with commit \(inside.commits), but commit \(marker.commits) had been stored: it "
                        + "is an older copy, or \(path)-wal is missing, cut or damaged")
            }
            return nil
        case .missing, .damaged:
            // Before the second commit nothing is acknowledged: the first start was cut.
            guard inside.commits > 1 else { return nil }
            return
                "\(path): \(MarkerFile.name) beside it is \(beside == .missing ? "missing" : "damaged"), so it can't "
                + "be checked whether this is the newest state; it is used as it is"
        }
    }

    // MARK: Files

    private func checkHeader() throws(StoreError) {
        let descriptor = try StateFile.openFile(path, O_RDONLY, "open the state file")
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 100)
        let count = pread(descriptor, &header, header.count, 0)
        // A loss of power in the very first start: SQLite goes back to the empty file.
        if beside == .missing, count == header.count, header.allSatisfy({ $0 == 0 }),
            try StateFile.size(of: "\(path)-journal") ?? 0 > 0
        {
            return
        }
        guard count == header.count, header.starts(with: Array("SQLite format 3\0".utf8)) else {
            throw StoreError(.corrupt, path: path, detail: "it does not begin like an SQLite database")
        }
        let application = header[68..<72].reduce(0) { $0 << 8 | Int($1) }
        // One of which the log was never written back has none.
        guard application == 0 || application == Schema.application else {
            throw foreign("it is a database of another program (application id \(application))")
        }
    }

    // MARK: Errors

    private func lost(_ detail: String) -> StoreError { StoreError(.lost, path: path, detail: detail) }

    private func foreign(_ detail: String) -> StoreError { StoreError(.foreign, path: path, detail: detail) }
}
