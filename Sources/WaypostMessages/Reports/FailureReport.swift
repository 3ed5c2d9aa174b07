package import Waypost

/// What failed, where and why: kept on disk until the broker has it.
package struct FailureReport: Sendable, Hashable {
    /// The room that failed.
    package enum Room: String, Sendable, Hashable, CaseIterable {
        case intake, router, service, map, link, agent
    }

    package var id: String
    package var code: Code
    package var room: Room
    package var ref: String?
    package var url: String?
    package var detail: String
    package var nearest: [String]
    /// How often it happened, with the times of the first and the last, in milliseconds since 1970.
    package var count: Int64
    package var first: Int64
    package var last: Int64

    package init(
        id: String, code: Code, room: Room, ref: String? = nil, url: String? = nil, detail: String,
        nearest: [String] = [], at time: Int64
    ) {
        self.id = id
        self.code = code
        self.room = room
        self.ref = ref
        self.url = url
        self.detail = detail
        self.nearest = nearest
        count = 1
        first = time
        last = time
    }

    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", id)
        json.member("type", "fail")
        json.member("code", code.number)
        json.member("name", code.name)
        json.member("retryable", code.isRetryable)
        if let ref { json.member("ref", ref) }
        json.member("where", room.rawValue)
        if let url { json.member("url", url) }
        json.member("detail", detail)
        if code.number == 404 { json.member("nearest", nearest) }
        json.member("count", count)
        json.member("first", first)
        json.member("last", last)
        json.endObject()
        return json.bytes
    }

    package init(_ json: JSONValue) throws(Rejection) {
        let fields = Fields(of: json)
        let number = try fields.required("code", fields.integer("code"))
        let name = try fields.required("name", fields.text("name"))
        let room = try fields.required("where", fields.text("where"))
        guard let room = Room(rawValue: room) else {
            throw Rejection(.badField, "where \(room.debugDescription) is unknown")
        }
        self.init(
            id: try fields.text("id") ?? "",
            code: Code(number: Int(clamping: number), name: name),
            room: room,
            ref: try fields.text("ref"),
            url: try fields.text("url"),
            detail: try fields.text("detail") ?? "",
            nearest: (fields["nearest"]?.arrayValue ?? []).compactMap(\.stringValue),
            at: try fields.integer("first", in: 0...Fields.latestTime) ?? 0)
        count = try fields.integer("count") ?? 1
        last = try fields.integer("last", in: 0...Fields.latestTime) ?? first
    }
}
