import Threading
public import Waypost
import WaypostMessages

/// All that is known of one agent as files in one archive, for whoever has to explain what happened.
///
///     let bundle = try await backend.agent("k1").collect()
///     try Data(bundle.archive()).write(to: file)
///
/// What can't be had does not keep the rest out: ``parts`` says why. The values of secret keys are masked in all of it, and it
/// has at most 32 MiB before it is packed, 4 MiB of one file.
public struct AgentBundle: Sendable {
    private static let maximumReason = 1_000

    /// A file of the bundle, or one that it does not have.
    public struct Part: Sendable, Hashable {
        /// Its path in the archive.
        public let file: String
        /// What it is, in a few words.
        public let text: String
        /// Its size; 0 of one that is not there.
        public let bytes: Int
        /// Whether older lines were left out because there were too many.
        public let isCut: Bool
        /// The time that its content is of, by the agent's clock, in milliseconds since 1970; nil where it does not say.
        public let asOf: Int64?
        /// When it was read, by the clock of this machine, in milliseconds since 1970.
        public let time: Int64
        /// How long that took, in milliseconds.
        public let duration: Int64
        /// Why it is not there; nil when it is.
        public let missing: String?

        fileprivate var json: JSONValue {
            var members: [String: JSONValue] = [
                "file": .string(file), "what": .string(text), "read": .int(time), "ms": .int(duration),
            ]
            if let asOf { members["asOf"] = .int(asOf) }
            if isCut { members["cut"] = true }
            if let missing {
                members["missing"] = .string(missing)
            } else {
                members["bytes"] = .int(Int64(bytes))
            }
            return .object(members)
        }
    }

    /// The agent.
    public let agent: String
    /// In the order in which they were read.
    public private(set) var parts: [Part] = []
    private var contents: [(file: String, bytes: [UInt8])] = []
    private var size = 0
    private let redaction: Redaction
    private let made = WallClock.now()
    /// The most bytes of one file, and of all.
    private let (fileLimit, limit): (Int, Int)

    /// An empty bundle.
    ///
    /// - Parameter maskedKeys: Keys whose values are masked beside those of password, token and the like.
    public init(agent: String, maskedKeys: [String] = []) {
        self.init(agent: agent, maskedKeys: maskedKeys, fileLimit: 4 << 20, limit: 32 << 20)
    }

    package init(agent: String, maskedKeys: [String], fileLimit: Int, limit: Int) {
        self.agent = agent
        (self.fileLimit, self.limit) = (fileLimit, limit)
        redaction = Redaction(further: maskedKeys)
    }

    /// Adds a document, masked.
    ///
    /// - Parameters:
    ///   - file: Its path in the archive, such as `agent/health.json`.
    ///   - text: What it is, in a few words.
    ///   - asOf: The time that it is of, in milliseconds since 1970.
    ///   - started: When reading it began, in milliseconds since 1970.
    public mutating func add(
        _ file: String, _ text: String, _ json: JSONValue, asOf: Int64? = nil, since started: Int64? = nil
    ) {
        let bytes = redaction.masked(json).serialized() + [UInt8(ascii: "\n")]
        guard bytes.count <= fileLimit else {
            return miss(
                file, text, "it has \(bytes.count) bytes, and a bundle takes \(fileLimit)", since: started)
        }
        take(file, text, bytes, asOf: asOf, since: started)
    }

    /// Adds lines, masked; of too many the last ones.
    ///
    /// - Parameters: as of a document.
    public mutating func add(
        _ file: String, _ text: String, lines: [String], asOf: Int64? = nil, since started: Int64? = nil
    ) {
        var kept: [[UInt8]] = []
        var count = 0
        for line in lines.reversed() {
            let bytes = Array(masked(line: line).utf8) + [UInt8(ascii: "\n")]
            count += bytes.count
            guard count <= fileLimit else { break }
            kept.append(bytes)
        }
        take(
            file, text, Array(kept.reversed().joined()), isCut: kept.count < lines.count, asOf: asOf,
            since: started)
    }

    /// Notes what could not be had, and why.
    public mutating func miss(_ file: String, _ text: String, _ reason: String, since started: Int64? = nil) {
        parts.append(
            part(file, text, since: started, missing: redaction.masked(reason.cut(to: Self.maximumReason))))
    }

    /// What is in it, of when, and what is not, and why: the file `index.json`.
    public var index: JSONValue {
        [
            "agent": .string(agent), "made": .int(made), "version": .string(Version.current),
            "parts": .array(parts.map(\.json)),
        ]
    }

    /// The archive, as `tar -xzf` reads it: a folder named for the agent, and in it `index.json` first.
    ///
    /// - Throws: ``BackendError`` when there is no memory for it.
    public func archive() throws(BackendError) -> [UInt8] {
        var archive = TarArchive()
        let folder = "waypost-\(Self.path(agent))"
        archive.add("\(folder)/index.json", index.serialized() + [UInt8(ascii: "\n")], at: made)
        for content in contents { archive.add("\(folder)/\(content.file)", content.bytes, at: made) }
        return try archive.packed()
    }

    private mutating func take(
        _ file: String, _ text: String, _ bytes: [UInt8], isCut: Bool = false, asOf: Int64?,
        since started: Int64?
    ) {
        guard size + bytes.count <= limit else {
            return miss(file, text, "the bundle has \(size) bytes already, of \(limit)", since: started)
        }
        let part = part(file, text, bytes: bytes.count, isCut: isCut, asOf: asOf, since: started)
        size += bytes.count
        contents.append((part.file, bytes))
        parts.append(part)
    }

    private func part(
        _ file: String, _ text: String, bytes: Int = 0, isCut: Bool = false, asOf: Int64? = nil,
        since started: Int64?,
        missing: String? = nil
    ) -> Part {
        let now = WallClock.now()
        return Part(
            file: Self.path(file), text: text, bytes: bytes, isCut: isCut, asOf: asOf, time: now,
            duration: started.map { max(0, now.subtracting(clamping: $0)) } ?? 0, missing: missing)
    }

    /// A line of JSON is masked by its keys, any other as a text.
    private func masked(line: String) -> String {
        guard line.utf8.first == UInt8(ascii: "{"),
            let json = try? JSONValue(parsing: Array(line.utf8), limits: .trustedFile)
        else { return redaction.masked(line) }
        return String(decoding: redaction.masked(json).serialized(), as: UTF8.self)
    }

    /// What leads to no other folder, and fits into an archive.
    private static func path(_ text: String) -> String {
        let parts = text.split(separator: "/").filter { $0 != ".." && $0 != "." }
        let cleaned = parts.joined(separator: "/").utf8.map { byte -> UInt8 in
            let isPlain = "-_./".utf8.contains(byte) || Name.isValid(String(decoding: [byte], as: UTF8.self))
            return isPlain ? byte : UInt8(ascii: "_")
        }
        return String(decoding: cleaned.prefix(80), as: UTF8.self)
    }
}
