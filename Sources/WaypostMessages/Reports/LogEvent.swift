package import Waypost

/// One logcat event: a line that the agent publishes.
package struct LogEvent: Sendable, Hashable {
    /// The longest message, in bytes; a longer one is cut.
    package static let maximumMessageBytes = 2048
    /// The longest tag, start and command id that a reader keeps of an event, in bytes: an agent's are shorter.
    private static let maximumNameBytes = 256

    /// The agent's clock, in milliseconds since 1970.
    package var time: Int64
    package var level: LogLevel
    /// The level as it stood in the event; unlike that of `level` only when a newer agent has a level we do not know.
    package var letter: String
    package var tag: String
    /// Names the start of the process.
    package var boot: String
    /// Rises by one per boot over all levels, so that a reader sees every gap.
    package var sequence: Int64
    package var process: Int64
    package var thread: Int64
    package var message: String
    package var url: String?
    /// TheRouter's log type: true is `1`, an error.
    package var isError: Bool
    /// The id of the command that caused it.
    package var ref: String?
    /// The `traceparent` of that command.
    package var trace: String?
    /// How many events were shed before this one.
    package var dropped: Int64

    package init(
        time: Int64, level: LogLevel, tag: String, boot: String, sequence: Int64, process: Int64,
        thread: Int64,
        message: String, url: String? = nil, isError: Bool = false, ref: String? = nil, trace: String? = nil,
        dropped: Int64 = 0
    ) {
        self.time = time
        self.level = level
        letter = level.letter
        self.tag = tag
        self.boot = boot
        self.sequence = sequence
        self.process = process
        self.thread = thread
        self.message = message
        self.url = url
        self.isError = isError
        self.ref = ref
        self.trace = trace
        self.dropped = dropped
    }

    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("t", time)
        json.member("l", letter)
        json.member("tag", tag)
        json.member("boot", boot)
        json.member("seq", sequence)
        json.member("pid", process)
        json.member("tid", thread)
        json.member("msg", message)
        if let url { json.member("url", url) }
        json.member("type", isError ? 1 : 0)
        if let ref { json.member("ref", ref) }
        if let trace { json.member("trace", trace) }
        if dropped > 0 { json.member("dropped", dropped) }
        json.endObject()
        return json.bytes
    }

    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        let letter = try fields.required("l", fields.text("l"))
        self.init(
            time: try fields.required("t", fields.integer("t", in: 0...Fields.latestTime)),
            // An unknown level is not hidden by the usual filters.
            level: LogLevel(letter: letter) ?? .warning,
            tag: try fields.required("tag", fields.text("tag")).cut(to: Self.maximumNameBytes),
            boot: try fields.text("boot")?.cut(to: Self.maximumNameBytes) ?? "",
            sequence: try fields.clamped("seq", to: 0...Fields.largestInteger) ?? 0,
            process: try fields.integer("pid") ?? 0,
            thread: try fields.integer("tid") ?? 0,
            message: try fields.required("msg", fields.text("msg")).cut(to: Self.maximumMessageBytes),
            url: try fields.text("url")?.cut(to: Self.maximumMessageBytes),
            isError: try fields.integer("type") == 1,
            ref: try fields.text("ref")?.cut(to: Self.maximumNameBytes),
            trace: TraceParent.valid(fields["trace"]?.stringValue),
            dropped: try fields.integer("dropped") ?? 0)
        if LogLevel(letter: letter) == nil { self.letter = letter.cut(to: 16) }
    }

    /// The code with which the message of a failure begins: `404 NO_ROUTE: …`; nil for every other event.
    package var failureCode: Code? {
        let words = message.utf8.prefix(64).split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard isError, words.count >= 2, words[0].count == 3, let number = Int(Substring(words[0])),
            let name = words[1].split(separator: UInt8(ascii: ":")).first
        else { return nil }
        return Code(number: number, name: String(Substring(name)))
    }
}
