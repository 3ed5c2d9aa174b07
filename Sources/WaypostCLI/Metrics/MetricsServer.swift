import Glibc

/// Answers `GET /metrics` on one address.
///
/// HTTP libraries weigh more than the agent; what a scraper asks fits into a few lines with strict bounds.
struct MetricsServer {
    private let server: SmallServer

    /// Listens on `HOST:PORT`.
    ///
    /// - Throws: ``CommandError`` 64 for what is no address, 1 when it can't be listened on.
    init(at address: String) throws(CommandError) {
        guard let colon = address.lastIndex(of: ":"),
            let port = UInt16(address[address.index(after: colon)...])
        else {
            throw CommandError(.usage, "metrics must be HOST:PORT, such as 127.0.0.1:9464; found \(address)")
        }
        let host = address[..<colon].drop { $0 == "[" }.prefix { $0 != "]" }
        server = SmallServer(listener: try SmallServer.listen(String(host), port, address, for: "metrics"))
    }

    /// Answers with what `text` returns, until the process ends.
    func start(_ text: @escaping @Sendable () -> String) throws(CommandError) {
        try server.start(thread: "wp-metrics") {
            Self.answer($0, text).map(SmallServer.Reaction.answer) ?? .readOn
        }
    }

    /// The answer to a request, once all of it has come; its headers do not matter.
    private static func answer(_ request: [UInt8], _ text: () -> String) -> [UInt8]? {
        guard request.suffix(4) == [0x0D, 0x0A, 0x0D, 0x0A] else { return nil }
        let line = String(decoding: request.prefix { $0 != 0x0D }, as: UTF8.self).split(separator: " ")
        let path = line.count > 1 ? line[1].prefix { $0 != "?" } : ""
        return switch (line.first, path) {
        case ("GET", "/metrics"), ("GET", "/"): response("200 OK", text())
        case ("GET", _): response("404 Not Found", "metrics are at /metrics\n")
        default: response("405 Method Not Allowed", "only GET is supported\n")
        }
    }

    private static func response(_ status: String, _ body: String) -> [UInt8] {
        let head =
            "HTTP/1.1 \(status)\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
        return Array((head + body).utf8)
    }
}
