import Threading
import WaypostMessages

/// Says who may ask what: the token, the cookie it is exchanged for, and where a request may come from.
final class Gatekeeper: Sendable {
    /// What of a request is looked at.
    struct Request: Sendable {
        var isPost: Bool
        var path: String
        /// The header `Host`.
        var host: String?
        var origin: String?
        var cookie: String?
        var authorization: String?
    }

    enum Refusal: Error, Equatable {
        /// The name in `Host` or the page in `Origin` is not the console's own.
        case foreign(String)
        case noToken
    }

    static let cookieName = "waypost-console"
    /// The most browsers that are known at once; the one that came first has to show the token again.
    private static let maximumSessions = 64

    /// What the printed address has behind `#token=`.
    let token: String
    /// The names under which the console is reached, with their ports.
    private let hosts: Set<String>
    private let origins: Set<String>
    private let isSecure: Bool
    private let sessions = Guarded<[String]>([])

    /// - Parameters:
    ///   - port: The port that it listens on.
    ///   - address: The address that it listens on.
    ///   - proxy: The scheme and the host under which a proxy serves it; nil without one.
    init(token: String, address: String, port: Int, proxy: (scheme: String, host: String)? = nil) {
        self.token = token
        let bracketed = address.contains(":") ? "[\(address)]" : address
        var hosts = Set(["127.0.0.1", "localhost", "[::1]", bracketed].map { "\($0):\(port)" })
        var origins = Set(hosts.map { "http://\($0)" })
        if let proxy {
            hosts.insert(proxy.host)
            origins = ["\(proxy.scheme)://\(proxy.host)"]
        }
        self.hosts = hosts
        self.origins = origins
        isSecure = proxy?.scheme == "https"
    }

    /// - Throws: ``Refusal``.
    func check(_ request: Request, needsSession: Bool) throws(Refusal) {
        // A name of an attacker that leads to this machine is not one of ours.
        guard let host = request.host?.lowercased(), hosts.contains(host) else {
            throw .foreign("Host \(request.host?.quoted ?? "is missing")")
        }
        if let origin = request.origin, !origins.contains(origin.lowercased()) {
            throw .foreign("Origin \(origin.quoted)")
        }
        let bearer = request.authorization.flatMap { $0.hasPrefix("Bearer ") ? $0.dropFirst(7) : nil }
        if let bearer {
            guard Self.isSame(String(bearer), token) else { throw .noToken }
            return
        }
        // A browser says where a request comes from that may change something.
        if request.isPost, request.origin == nil { throw .foreign("Origin is missing") }
        guard needsSession else { return }
        guard let session = request.cookie.flatMap(Self.session),
            sessions.withLock({ $0.contains { Self.isSame($0, session) } })
        else { throw .noToken }
    }

    /// A cookie in exchange for the token; nil for a wrong one.
    func openSession(_ shown: String) -> String? {
        guard Self.isSame(shown, token) else { return nil }
        let session = Self.secret()
        sessions.withLock { sessions in
            if sessions.count >= Self.maximumSessions { sessions.removeFirst() }
            sessions.append(session)
        }
        return "\(Self.cookieName)=\(session); Path=/; HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }

    private static func session(_ header: String) -> String? {
        header.split(separator: ";").lazy.map { $0.drop { $0 == " " } }
            .first { $0.hasPrefix(cookieName + "=") }.map { String($0.dropFirst(cookieName.utf8.count + 1)) }
    }

    /// Compares in a time that does not say where the first difference is.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        return zip(one.utf8, other.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// 128 random bits in hexadecimal.
    static func secret() -> String {
        var random = SystemRandomNumberGenerator()
        let letters = Array("0123456789abcdef")
        return String((0..<32).map { _ in letters[Int(random.next(upperBound: UInt(16)))] })
    }
}
