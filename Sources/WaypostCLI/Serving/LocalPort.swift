import Glibc
import Waypost
import WaypostMessages

/// The door for a page in a browser of this machine: `POST /command` on a port of the loopback, with a token, from origins
/// that are allowed.
///
/// It takes opens, calls and navigates. A page of another origin is refused, and so is another name of the machine, by which
/// a page could get here through its own DNS.
struct LocalPort: Sendable {
    /// How it is set.
    struct Settings: Sendable, Equatable {
        var port: UInt16
        var token: String
        var origins: [String]
    }

    private static let kinds = ["open", "call", "navigate"]
    /// Bytes of the head of a request.
    private static let headBytes = 8_192

    private let settings: Settings
    private let server: SmallServer
    private let commandBytes: Int

    /// Listens on the loopback.
    ///
    /// - Throws: ``CommandError`` 1 when it can't.
    init(_ settings: Settings, commandBytes: Int) throws(CommandError) {
        (self.settings, self.commandBytes) = (settings, commandBytes)
        var limits = SmallServer.Limits()
        limits.requestBytes = commandBytes + Self.headBytes
        server = SmallServer(
            listener: try SmallServer.listen(
                "127.0.0.1", settings.port, "127.0.0.1:\(settings.port)", for: "commands"),
            limits: limits)
    }

    /// Answers until the process ends.
    func start(
        _ run:
            @escaping @Sendable (_ command: [UInt8], _ answer: @escaping @Sendable ([UInt8]) -> Void) -> Void
    )
        throws(CommandError)
    {
        try server.start(thread: "wp-local") { react(to: $0, run) }
    }

    func stop() { server.stop() }

    private func react(
        to bytes: [UInt8],
        _ run:
            @escaping @Sendable (_ command: [UInt8], _ answer: @escaping @Sendable ([UInt8]) -> Void) -> Void
    ) -> SmallServer.Reaction {
        guard let request = Request(bytes) else {
            return bytes.count > Self.headBytes
                ? .answer(answer("431 Request Header Fields Too Large")) : .readOn
        }
        let origin = request.header("origin")
        guard origin.map(settings.origins.contains) ?? true else {
            return .answer(answer("403 Forbidden", "this origin is not allowed; see local-origin"))
        }
        let names = ["127.0.0.1:\(settings.port)", "localhost:\(settings.port)"]
        guard let host = request.header("host"), names.contains(host) else {
            return .answer(answer("403 Forbidden", "the host must be \(names[0])", to: origin))
        }
        switch (request.method, request.path) {
        case ("OPTIONS", "/command"): return .answer(answer("204 No Content", to: origin))
        case ("POST", "/command"): break
        case (_, "/command"):
            return .answer(answer("405 Method Not Allowed", "only POST is taken", to: origin))
        default: return .answer(answer("404 Not Found", "commands go to /command", to: origin))
        }
        guard isToken(request.header("authorization")) else {
            return .answer(answer("401 Unauthorized", "the token is missing or another", to: origin))
        }
        guard request.header("content-type")?.hasPrefix("application/json") == true else {
            return .answer(answer("415 Unsupported Media Type", "send application/json", to: origin))
        }
        guard let length = request.header("content-length").flatMap({ Int($0) }), length >= 0 else {
            return .answer(answer("411 Length Required", "Content-Length is missing", to: origin))
        }
        guard length <= commandBytes else {
            return .answer(
                answer("413 Content Too Large", "a command has at most \(commandBytes) bytes", to: origin))
        }
        guard request.body.count >= length else { return .readOn }
        let command = Array(request.body.prefix(length))
        let type = (try? JSONValue(parsing: command, limits: .protocolDefaults))?["type"]?.stringValue
        guard let type, Self.kinds.contains(type) else {
            return .answer(
                answer("400 Bad Request", "a command here is an open, a call or a navigate", to: origin))
        }
        return .later { answered in
            run(command) { answered(answer("200 OK", json: $0, to: origin)) }
        }
    }

    /// As long as the token has, whichever byte differs.
    private func isToken(_ header: String?) -> Bool {
        let (given, wanted) = (Array((header ?? "").utf8), Array("Bearer \(settings.token)".utf8))
        var difference = given.count ^ wanted.count
        for (index, byte) in wanted.enumerated() {
            difference |= Int(byte ^ (index < given.count ? given[index] : 0))
        }
        return difference == 0
    }

    private func answer(_ status: String, _ text: String = "", to origin: String? = nil) -> [UInt8] {
        answer(
            status, json: text.isEmpty ? [] : JSONValue.object(["error": .string(text)]).serialized(),
            to: origin)
    }

    private func answer(_ status: String, json: [UInt8], to origin: String?) -> [UInt8] {
        var head = "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nContent-Length: \(json.count)\r\n"
        head += "Cache-Control: no-store\r\nConnection: close\r\n"
        if let origin {
            head += "Access-Control-Allow-Origin: \(origin)\r\nVary: Origin\r\n"
            head +=
                "Access-Control-Allow-Methods: POST\r\nAccess-Control-Allow-Headers: authorization, content-type\r\n"
        }
        return Array(head.utf8) + [0x0D, 0x0A] + json
    }
}

/// The head of a request as far as it matters, and what has come of its body.
private struct Request {
    let method: String
    let path: String
    private let headers: [String: String]
    let body: ArraySlice<UInt8>

    /// Nil as long as its head is not complete.
    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A]) else { return nil }
        body = bytes[end.upperBound...]
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: false)
        let first = (lines.first ?? "").split(separator: " ")
        (method, path) = (String(first.first ?? ""), first.count > 1 ? String(first[1]) : "")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let name = line[..<colon].lowercased()
            // One that comes twice is none: a second Host or Origin must not pass beside the first.
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            headers[name] = headers[name] == nil ? String(value) : ""
        }
        self.headers = headers
    }

    func header(_ name: String) -> String? { headers[name] }
}
