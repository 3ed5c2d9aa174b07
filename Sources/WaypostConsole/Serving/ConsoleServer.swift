#if Console
import HTTPTypes
import Hummingbird
import HummingbirdCore
import ServiceLifecycle
import Waypost
import WaypostBackend
import WaypostMessages
import Threading

/// Answers the requests of the page.
struct ConsoleServer: HTTPResponder {
    typealias Context = BasicRequestContext

    /// The largest body of a request, in bytes: a map, and what JSON needs to quote it.
    private static let maximumBody = 1 << 20
    /// The longest time that a question to agents may take, beyond their own deadlines.
    private static let longestRead = Duration.seconds(60)

    let gate: Gatekeeper
    let files: PageFiles
    let reader: FleetReader
    let tabs: Tabs
    let status: StatusView
    let asking: AskingViews
    /// Nil where the console only reads.
    let changes: Changes?

    func respond(to request: Request, context: Context) async throws -> Response {
        let path = request.uri.path
        let isAPI = path.hasPrefix("/api/")
        // The first Host is not among the other headers.
        let asked = Gatekeeper.Request(
            hosts: [request.head.authority].compactMap(\.self)
                + (Self.host.map { request.headers[values: $0] } ?? []),
            origin: request.headers[.origin], authorization: request.headers[.authorization])
        do throws(Gatekeeper.Refusal) {
            try gate.check(asked, needsSession: isAPI)
        } catch {
            switch error {
            case .foreign(let what):
                return Self.failure(403, "FOREIGN", "\(what): this console does not answer under that name")
            case .noToken:
                return Self.failure(
                    401, "NO_TOKEN", "open the address that waypost-console printed, with its token")
            }
        }
        guard isAPI else { return file(path, request) }
        do {
            let query = QueryItems(query: request.uri.query ?? "")
            let words = path.split(separator: "/").dropFirst().map(String.init)
            switch request.method {
            case .get where words == ["events"]: return try stream(query, request)
            case .get:
                return Self.answer(try await Self.within(Self.longestRead) { try await read(words, query) })
            case .post where words == ["session"]:
                guard let session = gate.openSession(asked) else {
                    return Self.failure(
                        401, "NO_TOKEN", "this needs the token itself; it changes with each start")
                }
                return Self.answer(["session": .string(session)])
            case .post: return try await post(words, query, request)
            default: return Self.failure(405, "METHOD", "\(request.method) is not answered here")
            }
        } catch {
            let error = ViewError(error)
            return Self.answer(error.json, status: error.status)
        }
    }

    /// What is read or asked ends, whatever agents answer meanwhile.
    private static func within(
        _ limit: Duration, _ body: @escaping @Sendable () async throws -> JSONValue
    ) async throws -> JSONValue {
        try await withThrowingTaskGroup(of: JSONValue.self) { tasks in
            tasks.addTask { try await body() }
            tasks.addTask {
                try await MonotonicTime.sleep(for: limit)
                throw ViewError.tooLong("it was ended: it took more than \(limit.components.seconds) s")
            }
            defer { tasks.cancelAll() }
            return try await tasks.next() ?? .null
        }
    }

    // MARK: Files

    private func file(_ path: String, _ request: Request) -> Response {
        guard request.method == .get || request.method == .head, let file = files[path] else {
            return Self.failure(404, "NOT_FOUND", "there is no such page")
        }
        var headers = Self.headers(type: file.type)
        headers[.eTag] = file.tag
        headers[.cacheControl] = "no-cache"
        guard request.headers[.ifNoneMatch] != file.tag else {
            return Response(status: .notModified, headers: headers)
        }
        let body = ResponseBody(byteBuffer: ByteBuffer(bytes: file.bytes))
        return Response(status: .ok, headers: headers, body: request.method == .head ? ResponseBody() : body)
    }

    // MARK: Reading

    private func read(_ words: [String], _ query: QueryItems) async throws -> JSONValue {
        let now = WallClock.now()
        let asOf = reader.asOf(now)
        switch (words.first, words.count) {
        case ("fleet", 1):
            let view = try FleetView(query)
            let (connection, state) = (reader.connection, reader.snapshot())
            return view.json(
                of: state, isComplete: connection.isComplete, gap: connection.gap, asOf: asOf, now: now)
        case ("maps", 1): return reader.snapshot().mapsJSON(asOf: asOf)
        case ("rollouts", 1): return reader.read(\.rollouts).json(asOf: asOf)
        case ("failures", 1): return reader.snapshot().failuresJSON(asOf: asOf, now: now)
        case ("health", 1): return status.health
        case ("status", 1): return status.json
        case ("log", 1):
            let view = try LogView(query["log"], agent: query["agent"])
            let place: LogView.Place =
                if let number = try query.number("before") {
                    .before(number)
                } else if let number = try query.number("after") {
                    .after(number)
                } else if let time = try query.number("at") { .around(time) } else { .end }
            let limit = try query.number("limit", in: 1...LogView.maximumLines) ?? 200
            return try await view.json(of: reader.read(\.lines), place, limit: limit, now: now)
        case ("commands", 1):
            let limit = try query.number("limit", in: 1...500) ?? 100
            let (commands, began) = reader.read { ($0.commands, $0.began) }
            return [
                "asOf": .int(asOf), "commands": .array(commands.newest(limit).map(\.json)),
                "since": .int(began),
            ]
        case ("commands", 2):
            guard let agent = query["agent"] else { throw ViewError.invalid("agent is missing") }
            return try await asking.command(words[1], agent)
        case ("contract", 2): return try await asking.routes(words[1])
        case ("agents", 2): return reader.snapshot().agentJSON(words[1], asOf: asOf, now: now)
        case ("agents", 3): return try await readAgent(words[1], words[2], query, now)
        default: throw ViewError.notFound("there is no /\(words.joined(separator: "/"))")
        }
    }

    private func readAgent(
        _ agent: String, _ what: String, _ query: QueryItems, _ now: Int64
    ) async throws -> JSONValue {
        switch what {
        case "timeline":
            let before = try query.number("before")
            let limit = try query.number("limit", in: 1...500) ?? 100
            return reader.snapshot().timelineJSON(of: agent, before: before, limit: limit, now: now)
        case "routes": return try await asking.routes(agent)
        case "maps": return try await asking.maps(agent)
        case "bundle": return try await asking.bundle(agent)
        case "replay": return try await asking.replay(agent, query["log"])
        case "history": return try await asking.history(agent, layer: query["layer"])
        default: throw ViewError.notFound("there is no \(what.quoted) of an agent")
        }
    }

    // MARK: Posting

    private func post(_ words: [String], _ query: QueryItems, _ request: Request) async throws -> Response {
        guard request.headers[.contentType]?.hasPrefix("application/json") == true else {
            return Self.failure(415, "CONTENT_TYPE", "Content-Type must be application/json")
        }
        let body = try await json(of: request)
        let isDry = query["dry"] == "1"
        switch words {
        case ["resolve"]:
            return Self.answer(try await Self.within(Self.longestRead) { try await asking.resolve(body) })
        case ["maps", "diff"]:
            return Self.answer(try await Self.within(Self.longestRead) { try await asking.diff(body) })
        case ["maps"]: return Self.answer(try await allowed().relocate(body, isDry: isDry))
        case ["maps", "undo"]: return Self.answer(try await allowed().undo(body, isDry: isDry))
        default:
            if words.count == 3, words[0] == "rollouts" {
                return Self.answer(try await allowed().steer(words[2], words[1], body, isDry: isDry))
            }
            guard words.count == 3, words[0] == "agents" else {
                throw ViewError.notFound("there is no /\(words.joined(separator: "/"))")
            }
            return Self.answer(try await allowed().perform(words[2], at: words[1], body, isDry: isDry))
        }
    }

    private func allowed() throws(ViewError) -> Changes {
        guard let changes else {
            throw .forbidden("this console only reads; start it with --allow-commands")
        }
        return changes
    }

    private func json(of request: Request) async throws(ViewError) -> JSONValue {
        let bytes: [UInt8]
        do {
            var request = request
            bytes = Array(try await request.collectBody(upTo: Self.maximumBody).readableBytesView)
        } catch {
            throw .invalid("the body is larger than 1 MiB, or did not come whole")
        }
        do {
            return try JSONValue(parsing: bytes, limits: .trustedFile)
        } catch {
            throw .invalid("the body is not JSON: \(error)")
        }
    }

    // MARK: The stream

    private func stream(_ query: QueryItems, _ request: Request) throws -> Response {
        let follows = query["follow"] == "1" || query["log"] != nil
        let log = follows ? try LogView(query["log"], agent: query["agent"]) : nil
        let last = Self.lastEventID.flatMap { request.headers[$0] }.flatMap { Int64($0) }
        guard tabs.enter() else {
            return Self.failure(503, "TOO_MANY_TABS", "\(Tabs.maximum) tabs are open; close one")
        }
        let lease = TabLease(tabs)
        let status = status
        let tab = TabStream(
            reader, log: log, agent: query["agent"], lastLine: last, tabs: tabs, status: { status.json })
        var headers = Self.headers(type: "text/event-stream")
        if let buffering = Self.buffering { headers[buffering] = "no" }
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody { writer in
                var tab = tab
                try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
                // A tab would hold the console for ever.
                while !Task.isCancelled, !Task.isShuttingDownGracefully {
                    let bytes = tab.next()
                    // It waits here as long as the tab does not read.
                    if !bytes.isEmpty { try await writer.write(ByteBuffer(bytes: bytes)) }
                    try await MonotonicTime.sleep(for: TabStream.pace)
                }
                withExtendedLifetime(lease) {}
                try await writer.finish(nil)
            })
    }

    // MARK: Headers

    private static let host = HTTPField.Name("Host")
    private static let lastEventID = HTTPField.Name("Last-Event-ID")
    /// Against a proxy that would gather what the stream sends.
    private static let buffering = HTTPField.Name("X-Accel-Buffering")
    private static let security: [(HTTPField.Name, String)] = [
        (
            "Content-Security-Policy",
            "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
        ),
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ].compactMap { name, value in HTTPField.Name(name).map { ($0, value) } }

    private static func headers(type: String) -> HTTPFields {
        var headers = HTTPFields()
        headers[.contentType] = type
        headers[.cacheControl] = "no-store"
        for (name, value) in security { headers[name] = value }
        return headers
    }

    private static func answer(_ json: JSONValue, status: Int = 200) -> Response {
        Response(
            status: HTTPResponse.Status(code: status), headers: headers(type: "application/json"),
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.serialized())))
    }

    private static func failure(_ status: Int, _ code: String, _ message: String) -> Response {
        answer(
            ["error": ["code": .string(code), "message": .string(message), "detail": .null]], status: status)
    }
}

/// A place among the tabs, given back when the stream is gone, however it ended.
private final class TabLease: Sendable {
    private let tabs: Tabs
    init(_ tabs: Tabs) { self.tabs = tabs }
    deinit { tabs.leave() }
}
#endif
