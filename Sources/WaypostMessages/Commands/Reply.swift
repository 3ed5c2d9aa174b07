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
    /// What was found and where, for people; nil when the command succeeded.
    package var detail: String?
    /// Names close to the one that was not found, at most three.
    package var nearest: [String]
    /// What the application says of its failure beside the detail, for programs.
    package var payload: JSONValue?
    /// Probable mistakes in an accepted command, for people.
    package var warnings: [String]

    package init(
        id: String, code: Code, result: JSONValue = .null, milliseconds: Int64 = 0, attempt: Int = 1,
        at: Int64,
        detail: String? = nil, nearest: [String] = [], payload: JSONValue? = nil, warnings: [String] = []
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
    }

    /// The interim reply of a command whose work takes longer than a moment.
    package static func accepted(id: String, attempt: Int, at: Int64) -> Reply {
        var reply = Reply(id: id, code: .ok, attempt: attempt, at: at)
        reply.status = .accepted
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
        json.member("ms", milliseconds)
        json.member("attempt", attempt)
        json.member("at", at)
        json.member("result", result)
        if let detail { json.member("detail", detail) }
        if code.number == 404 { json.member("nearest", nearest) }
        if let payload { json.member("payload", payload) }
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
            warnings: (fields["warnings"]?.arrayValue ?? []).compactMap(\.stringValue))
        self.status = Code.Status(rawValue: status)
        isDuplicate = fields["dup"]?.boolValue ?? false
    }

    /// A stored terminal reply as it is sent again: the same bytes, with `dup` true.
    package static func duplicate(of stored: [UInt8]) -> [UInt8] {
        // Everything before the first `"dup":` is the agent's own and an id, which holds no quote.
        let marker = Array(#""dup":false"#.utf8)
        guard let start = stored.firstRange(of: marker) else { return stored }
        return Array(stored[..<start.lowerBound]) + Array(#""dup":true"#.utf8)
            + Array(stored[start.upperBound...])
    }
}
