package import Waypost

/// What failed, where and why: kept on disk until the broker has it.
package struct FailureReport: Payload, Hashable {
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
    package struct MapInForce: Payload, Hashable {
        package var layer = ""
        package var revision: Int64 = 0

        package init(layer: String, revision: Int64) {
            self.layer = layer
            self.revision = revision
        }

        package init() {}

        package mutating func describe(_ fields: inout PayloadFields) {
            fields.required("layer", &layer)
            fields.required("rev", &revision)
        }
    }

    package var id = ""
    package var code = Code.ok
    package var origin = Origin.agent
    package var ref: String?
    /// The `traceparent` of that command.
    package var trace: String?
    package var url: String?
    package var detail = ""
    package var nearest: [String] = []
    /// The uppermost layer with a revision when it happened; nil when there was none.
    package var map: MapInForce?
    /// The sender whose message caused it, as far as there is one; it is not on the wire.
    package var sender: String?
    /// How often it happened, with the times of the first and the last, in milliseconds since 1970.
    package var count: Int64 = 1
    package var first: Int64 = 0
    package var last: Int64 = 0

    package init(
        id: String, code: Code, origin: Origin, ref: String? = nil, trace: String? = nil,
        url: String? = nil, detail: String, nearest: [String] = [], at time: Int64
    ) {
        self.id = id
        self.code = code
        self.origin = origin
        self.ref = ref
        self.trace = trace
        self.url = url
        self.detail = detail
        self.nearest = nearest
        first = time
        last = time
    }

    package init() {}

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.optional("id", &id)
        fields.written("type", "fail")
        fields.code(&code)
        fields.name(of: &code)
        fields.written("retryable", .bool(code.isRetryable))
        fields.optional("ref", &ref)
        fields.optional("trace", &trace)
        if fields.isReading { trace = TraceParent.valid(trace) }
        fields.word("where", &origin)
        fields.optional("url", &url)
        fields.optional("detail", &detail)
        if fields.isReading || code.number == 404 { fields.optional("nearest", &nearest) }
        fields.optional("map", &map, isLenient: true)
        fields.optional("count", &count)
        fields.optional("first", &first, in: 0...Fields.latestTime)
        if fields.isReading { last = first }
        fields.optional("last", &last, in: 0...Fields.latestTime)
    }
}

extension FailureReport {
    /// The tag under which failure reports are shown and filtered.
    package static let tag = "Fail"

    /// The report in the form of an event of level E, as it is shown in the log and as queries look at it.
    package var event: LogEvent {
        var message = "\(code) in \(origin.rawValue): \(detail)"
        let unnamed = NearestNames.unnamed(nearest, in: detail)
        if !unnamed.isEmpty { message += "; nearest: \(unnamed.joined(separator: ", "))" }
        if let ref { message += "; ref \(ref)" }
        if count > 1 { message += "; \(count) times" }
        return LogEvent(
            time: last, level: .error, tag: Self.tag, boot: "", sequence: 0, process: 0, thread: 0,
            message: message, url: url, isError: true, ref: ref, trace: trace)
    }
}
