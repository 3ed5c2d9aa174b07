import Threading
import Waypost
import WaypostMessages

/// Says who may ask what: the token, the secret it is exchanged for, and where a request may come from.
///
/// A page keeps its secret itself and sends it in a header. A browser sends a cookie to every port of 127.0.0.1, and so to
/// whatever else listens there.
final class Gatekeeper: Sendable {
    /// What of a request is looked at.
    struct Request: Sendable {
        /// The headers `Host`: there must be one.
        var hosts: [String]
        var origin: String?
        var authorization: String?
    }

    enum Refusal: Error, Equatable {
        /// The name in `Host` or the page in `Origin` is not the console's own.
        case foreign(String)
        case noToken
    }

    /// A host with its port, however it is written.
    private struct Authority: Hashable {
        let host: String
        let port: Int

        init?(_ text: String, standardPort: Int) {
            var host = text[...]
            var port = standardPort
            if let mark = host.lastIndex(of: ":"), !host[mark...].contains("]") {
                guard let number = UInt16(host[mark...].dropFirst()) else { return nil }
                port = Int(number)
                host = host[..<mark]
            }
            (self.host, self.port) = (HostName.normalized(String(host)), port)
            guard !self.host.isEmpty, self.host != "." else { return nil }
        }
    }

    /// The most browsers that are known at once; the one that came first has to show the token again.
    private static let maximumSessions = 64

    /// What the printed address has behind `#token=`.
    let token: String
    /// The names under which the console is reached.
    private let hosts: Set<Authority>
    /// That under which a proxy with TLS serves it.
    private let proxy: Authority?
    private let sessions = Guarded<[String]>([])

    /// - Parameters:
    ///   - port: The port that it listens on.
    ///   - address: The address that it listens on.
    ///   - proxy: The host under which a proxy with TLS serves it, with its port unless that is 443; nil without one.
    init(token: String, address: String, port: Int, proxy: String? = nil) {
        self.token = token
        let bracketed = address.contains(":") ? "[\(address)]" : address
        hosts = Set(
            ["127.0.0.1", "localhost", "[::1]", bracketed].compactMap {
                Authority("\($0):\(port)", standardPort: 80)
            })
        self.proxy = proxy.flatMap { Authority($0, standardPort: 443) }
    }

    /// - Throws: ``Refusal``.
    func check(_ request: Request, needsSession: Bool) throws(Refusal) {
        guard let host = request.hosts.first else { throw .foreign("Host is missing") }
        // A proxy may look at the one, and we at the other.
        guard request.hosts.count == 1 else { throw .foreign("a second Host") }
        // A name of an attacker that leads to this machine is not one of ours.
        guard isOwn(host) else { throw .foreign("Host \(host.quoted)") }
        if let origin = request.origin, !isOwn(origin: origin) { throw .foreign("Origin \(origin.quoted)") }
        guard needsSession else { return }
        guard let shown = Self.bearer(request), Self.isSame(shown, token) || isSession(shown) else {
            throw .noToken
        }
    }

    private func isOwn(_ host: String) -> Bool {
        Authority(host, standardPort: 80).map(hosts.contains) ?? false
            || proxy != nil && Authority(host, standardPort: 443) == proxy
    }

    /// Behind a proxy only its pages are the console's.
    private func isOwn(origin: String) -> Bool {
        let (scheme, port) = proxy == nil ? ("http://", 80) : ("https://", 443)
        guard origin.lowercased().hasPrefix(scheme),
            let page = Authority(String(origin.dropFirst(scheme.count)), standardPort: port)
        else { return false }
        return proxy.map { $0 == page } ?? hosts.contains(page)
    }

    private func isSession(_ shown: String) -> Bool {
        sessions.withLock { $0.contains { Self.isSame($0, shown) } }
    }

    /// A secret for a page in exchange for the token; nil for a wrong one.
    func openSession(_ request: Request) -> String? {
        guard let shown = Self.bearer(request), Self.isSame(shown, token) else { return nil }
        let session = Self.secret()
        sessions.withLock { sessions in
            if sessions.count >= Self.maximumSessions { sessions.removeFirst() }
            sessions.append(session)
        }
        return session
    }

    private static func bearer(_ request: Request) -> String? {
        request.authorization.flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil }
    }

    /// Compares in a time that does not say where the first difference is.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        return zip(one.utf8, other.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// 128 random bits in hexadecimal.
    static func secret() -> String {
        var random = Chance()
        let letters = Array("0123456789abcdef")
        return String((0..<32).map { _ in letters[Int(random.next(upperBound: UInt(16)))] })
    }
}

/// The gatekeeper, once the port is known that it stands before.
final class GateBox: Sendable {
    private let box = Guarded<Gatekeeper?>(nil)

    var gate: Gatekeeper? { box.withLock { $0 } }

    func open(_ gate: Gatekeeper) { box.withLock { $0 = gate } }
}
