import Dispatch
import Glibc

/// Answers `GET /metrics`, one request at a time, on one address.
///
/// HTTP libraries weigh more than the agent; what a scraper asks fits into a few lines with strict bounds.
struct MetricsServer {
    /// The longest request, in bytes.
    private static let maximumRequest = 8_192
    /// How long a client may be silent, in seconds.
    private static let patience = 2

    private let descriptor: Int32

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
        descriptor = try Self.listen(String(host), port, address)
    }

    /// Answers with what `text` returns, until the process ends.
    func start(_ text: @escaping @Sendable () -> String) {
        let descriptor = descriptor
        DispatchQueue(label: "waypost.metrics").async {
            while true {
                let client = accept(descriptor, nil, nil)
                if client < 0 {
                    // Nothing to accept with: descriptors may be short for a moment.
                    if errno != EINTR { usleep(100_000) }
                    continue
                }
                Self.answer(client, text)
                close(client)
            }
        }
    }

    private static func listen(_ host: String, _ port: UInt16, _ address: String) throws(CommandError)
        -> Int32
    {
        func fault(_ what: String) -> CommandError {
            CommandError(.failed, "listen for metrics on \(address): \(what)")
        }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &found)
        guard code == 0, let found else { throw fault(String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(found) }
        let descriptor = socket(
            found.pointee.ai_family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw fault(String(cString: strerror(errno))) }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0,
            Glibc.listen(descriptor, 16) == 0
        else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw fault(reason)
        }
        return descriptor
    }

    private static func answer(_ client: Int32, _ text: () -> String) {
        var limit = timeval(tv_sec: patience, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(client, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        var request: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1_024)
        let end = Array("\r\n\r\n".utf8)
        while request.suffix(4) != end[...] {
            let count = read(client, &buffer, buffer.count)
            guard count > 0, request.count + count <= maximumRequest else { return }
            request += buffer[..<count]
        }
        let line = String(decoding: request.prefix { $0 != 0x0D }, as: UTF8.self).split(separator: " ")
        let path = line.count > 1 ? line[1].prefix { $0 != "?" } : ""
        switch (line.first, path) {
        case ("GET", "/metrics"), ("GET", "/"): send("200 OK", text(), to: client)
        case ("GET", _): send("404 Not Found", "metrics are at /metrics\n", to: client)
        default: send("405 Method Not Allowed", "only GET is supported\n", to: client)
        }
    }

    private static func send(_ status: String, _ body: String, to client: Int32) {
        let head =
            "HTTP/1.1 \(status)\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
        var rest = Array((head + body).utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(client, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
