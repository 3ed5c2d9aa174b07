package import Waypost

/// The answer to a command: `accepted` while long work runs, then one terminal reply.
package struct Reply: Sendable, Hashable {
    package var id: String
    package var status: Code.Status
    package var code: Code
    package var result: JSONValue
    /// How long the work took, in milliseconds.
    package var milliseconds: Int64
    /// How often the command was started, 1 unless the agent crashed in between.
    package var attempt: Int
    /// Whether this is the stored reply, sent again because the command came again.
    package var isDuplicate: Bool
    /// The agent's clock, in milliseconds since 1970.
    package var at: Int64
    /// When a command begins that waits for its time, in milliseconds since 1970; only with `accepted`.
    package var due: Int64?
    /// How far the work is; only with `accepted`.
    package var progress: HandlerProgress?
    /// What was found and where, for people; nil when the command succeeded.
    package var detail: String?
    /// Names close to the one that was not found, at most three.
    package var nearest: [String]
    /// What the application says of its failure beside the detail, for programs.
    package var payload: JSONValue?
    /// Probable mistakes in an accepted command, for people.
    package var warnings: [String]
    /// The `traceparent` of the command.
    package var trace: String?

    package init(
        id: String, code: Code, result: JSONValue = .null, milliseconds: Int64 = 0, attempt: Int = 1,
        at: Int64,
        detail: String? = nil, nearest: [String] = [], payload: JSONValue? = nil, warnings: [String] = [],
        trace: String? = nil
    ) {
        self.id = id
        self.status = code.status ?? .failed
        self.code = code
        self.result = result
        self.milliseconds = milliseconds
        self.attempt = attempt
        self.isDuplicate = false
        self.at = at
        self.detail = detail
        self.nearest = nearest
        self.payload = payload
        self.warnings = warnings
        self.trace = trace
    }

    /// The interim reply of a command whose work takes longer than a moment.
    ///
    /// - Parameter due: when it begins, where it waits for its time.
    package static func accepted(
        id: String, attempt: Int, at: Int64, due: Int64? = nil, warnings: [String] = []
    ) -> Reply {
        var reply = Reply(id: id, code: .ok, attempt: attempt, at: at, warnings: warnings)
        reply.status = .accepted
        reply.due = due
        return reply
    }

    /// How far the work is: an interim reply, which older readers take for another `accepted`.
    package static func progress(_ progress: HandlerProgress, id: String, attempt: Int, at: Int64) -> Reply {
        var reply = accepted(id: id, attempt: attempt, at: at)
        reply.progress = progress
        return reply
    }

    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", id)
        json.member("type", "reply")
        json.member("status", status.rawValue)
        json.member("code", code.number)
        json.member("name", code.name)
        json.member("dup", isDuplicate)
        if let trace { json.member("trace", trace) }
        json.member("ms", milliseconds)
        json.member("attempt", attempt)
        json.member("at", at)
        json.member("result", result)
        if let detail { json.member("detail", detail) }
        if code.number == 404 { json.member("nearest", nearest) }
        if let payload { json.member("payload", payload) }
        if let due { json.member("due", due) }
        if let progress {
            var members: [String: JSONValue] = [:]
            if let fraction = progress.fraction { members["done"] = .double(fraction) }
            if let text = progress.text { members["text"] = .string(text) }
            json.member("progress", .object(members))
        }
        if !warnings.isEmpty { json.member("warnings", warnings) }
        json.endObject()
        return json.bytes
    }

    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        let number = try fields.required("code", fields.integer("code"))
        let name = try fields.required("name", fields.text("name"))
        let status = try fields.required("status", fields.text("status"))
        self.init(
            id: try Command.id(in: json),
            code: Code(number: Int(clamping: number), name: name),
            result: fields["result"] ?? .null,
            milliseconds: try fields.integer("ms") ?? 0,
            attempt: Int(clamping: try fields.integer("attempt") ?? 1),
            at: try fields.clamped("at", to: 0...Fields.latestTime) ?? 0,
            detail: try fields.text("detail"),
            nearest: (fields["nearest"]?.arrayValue ?? []).compactMap(\.stringValue),
            payload: fields["payload"],
            warnings: (fields["warnings"]?.arrayValue ?? []).compactMap(\.stringValue),
            trace: TraceParent.valid(fields["trace"]?.stringValue))
        self.status = Code.Status(rawValue: status)
        progress = fields["progress"].map {
            HandlerProgress($0["done"]?.doubleValue, $0["text"]?.stringValue)
        }
        due = try fields.clamped("due", to: 0...Fields.latestTime)
        isDuplicate = fields["dup"]?.boolValue ?? false
    }

    /// A stored terminal reply as it is sent again: the same bytes, with `dup` true.
    package static func duplicate(of stored: [UInt8]) -> [UInt8] {
        guard let mark = mark(in: stored) else { return stored }
        return Array(stored[..<mark.lowerBound]) + Array(#""dup":true"#.utf8)
            + Array(stored[mark.upperBound...])
    }

    /// The `trace` of a stored terminal reply, without reading all of it.
    package static func trace(of stored: [UInt8]) -> String? {
        guard let mark = mark(in: stored) else { return nil }
        let rest = stored[mark.upperBound...].split(
            separator: UInt8(ascii: "\""), maxSplits: 4, omittingEmptySubsequences: false)
        guard rest.count > 3, rest[0].elementsEqual(",".utf8), rest[1].elementsEqual("trace".utf8) else {
            return nil
        }
        return TraceParent.valid(String(decoding: rest[3], as: UTF8.self))
    }

    /// Where it says that it is no repetition.
    private static func mark(in stored: [UInt8]) -> Range<Int>? {
        // Everything before the first `"dup":` is the agent's own and an id, which holds no quote.
        stored.firstRange(of: Array(#""dup":false"#.utf8))
    }
}
