package import Waypost

/// What failed, where and why: kept on disk until the broker has it.
package struct FailureReport: Sendable, Hashable {
    /// The part of the agent that failed, `where` on the wire; a newer agent may have more.
    package struct Origin: RawRepresentable, Sendable, Hashable, CaseIterable {
        /// The word on the wire.
        package let rawValue: String

        /// The part of that name, known here or not.
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let intake = Origin(rawValue: "intake")
        package static let router = Origin(rawValue: "router")
        package static let service = Origin(rawValue: "service")
        package static let map = Origin(rawValue: "map")
        package static let link = Origin(rawValue: "link")
        package static let agent = Origin(rawValue: "agent")

        /// Those of this version of the protocol.
        package static let allCases: [Origin] = [.intake, .router, .service, .map, .link, .agent]
    }

    /// A relocation map in force.
    package struct MapInForce: Sendable, Hashable {
        package var layer: String
        package var revision: Int64

        package init(layer: String, revision: Int64) {
            self.layer = layer
            self.revision = revision
        }
    }

    package var id: String
    package var code: Code
    package var origin: Origin
    package var ref: String?
    package var url: String?
    package var detail: String
    package var nearest: [String]
    /// The uppermost layer with a revision when it happened; nil when there was none.
    package var map: MapInForce?
    /// The sender whose message caused it, as far as there is one; it is not on the wire.
    package var sender: String?
    /// How often it happened, with the times of the first and the last, in milliseconds since 1970.
    package var count: Int64
    package var first: Int64
    package var last: Int64

    package init(
        id: String, code: Code, origin: Origin, ref: String? = nil, url: String? = nil, detail: String,
        nearest: [String] = [], at time: Int64
    ) {
        self.id = id
        self.code = code
        self.origin = origin
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
        json.member("where", origin.rawValue)
        if let url { json.member("url", url) }
        json.member("detail", detail)
        if code.number == 404 { json.member("nearest", nearest) }
        if let map {
            json.member("map", ["layer": .string(map.layer), "rev": .int(map.revision)])
        }
        json.member("count", count)
        json.member("first", first)
        json.member("last", last)
        json.endObject()
        return json.bytes
    }

    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        let number = try fields.required("code", fields.integer("code"))
        let name = try fields.required("name", fields.text("name"))
        self.init(
            id: try fields.text("id") ?? "",
            code: Code(number: Int(clamping: number), name: name),
            origin: Origin(rawValue: try fields.required("where", fields.text("where"))),
            ref: try fields.text("ref"),
            url: try fields.text("url"),
            detail: try fields.text("detail") ?? "",
            nearest: (fields["nearest"]?.arrayValue ?? []).compactMap(\.stringValue),
            at: try fields.integer("first", in: 0...Fields.latestTime) ?? 0)
        if let layer = fields["map"]?["layer"]?.stringValue, let revision = fields["map"]?["rev"]?.intValue {
            map = MapInForce(layer: layer, revision: revision)
        }
        count = try fields.integer("count") ?? 1
        last = try fields.integer("last", in: 0...Fields.latestTime) ?? first
    }
}
