import Testing

@testable import WaypostConsole

/// Who may ask the console for something: attacks from other pages and other names.
@Suite struct GatekeeperTests {
    private let gate = Gatekeeper(token: "0123456789abcdef", address: "127.0.0.1", port: 8750)

    private func request(
        isPost: Bool = false, host: String? = "127.0.0.1:8750", origin: String? = nil, cookie: String? = nil,
        authorization: String? = nil
    ) -> Gatekeeper.Request {
        Gatekeeper.Request(
            isPost: isPost, path: "/api/fleet", host: host, origin: origin, cookie: cookie,
            authorization: authorization)
    }

    private func cookie() throws -> String {
        let header = try #require(gate.openSession("0123456789abcdef"))
        return try #require(header.split(separator: ";").first.map(String.init))
    }

    @Test func `the token is exchanged for a cookie that scripts and other sites do not get`() throws {
        let header = try #require(gate.openSession("0123456789abcdef"))
        #expect(header.contains("HttpOnly") && header.contains("SameSite=Strict"))
        #expect(!header.contains("0123456789abcdef"))
        let other = "a=b; " + (try cookie()) + "; c=d"
        #expect(throws: Never.self) { try gate.check(request(cookie: other), needsSession: true) }
    }

    @Test(arguments: ["", "0123456789abcdeg", "0123456789abcdef0", "0"])
    func `another token opens nothing`(_ token: String) {
        #expect(gate.openSession(token) == nil)
        #expect(throws: Gatekeeper.Refusal.noToken) {
            try gate.check(request(authorization: "Bearer \(token)"), needsSession: true)
        }
    }

    @Test(arguments: [
        "attacker.example:8750", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8750.attacker.example", "",
    ])
    func `a name of someone else that leads here gets no answer`(_ host: String) throws {
        let cookie = try cookie()
        #expect(throws: Gatekeeper.Refusal.self) {
            try gate.check(request(host: host, cookie: cookie), needsSession: true)
        }
        #expect(throws: Gatekeeper.Refusal.self) { try gate.check(request(host: host), needsSession: false) }
    }

    @Test(arguments: ["http://attacker.example", "null", "https://127.0.0.1:8750", "http://127.0.0.1:8751"])
    func `another page can't post or read with the cookie`(_ origin: String) throws {
        let cookie = try cookie()
        for isPost in [true, false] {
            #expect(throws: Gatekeeper.Refusal.foreign("Origin \(origin.debugDescription)")) {
                try gate.check(request(isPost: isPost, origin: origin, cookie: cookie), needsSession: true)
            }
        }
    }

    @Test func `a post that does not say where it comes from needs the token itself`() throws {
        let cookie = try cookie()
        #expect(throws: Gatekeeper.Refusal.foreign("Origin is missing")) {
            try gate.check(request(isPost: true, cookie: cookie), needsSession: true)
        }
        #expect(throws: Never.self) {
            try gate.check(
                request(isPost: true, origin: "http://127.0.0.1:8750", cookie: cookie), needsSession: true)
            try gate.check(
                request(isPost: true, authorization: "Bearer 0123456789abcdef"), needsSession: true)
        }
    }

    @Test func `no cookie, no answer`() {
        for cookie in [nil, "", "waypost-console=", "waypost-console=0123456789abcdef"] {
            #expect(throws: Gatekeeper.Refusal.noToken) {
                try gate.check(request(cookie: cookie), needsSession: true)
            }
        }
    }

    @Test func `the oldest of very many browsers shows the token again`() throws {
        let first = try cookie()
        for _ in 0..<64 { _ = try cookie() }
        #expect(throws: Gatekeeper.Refusal.noToken) {
            try gate.check(request(cookie: first), needsSession: true)
        }
    }

    @Test func `behind a proxy only its name counts for pages`() throws {
        let gate = Gatekeeper(
            token: "t", address: "10.0.0.5", port: 8750, proxy: ("https", "console.example"))
        let header = try #require(gate.openSession("t"))
        #expect(header.contains("Secure"))
        let cookie = header.split(separator: ";").first.map(String.init)
        #expect(throws: Never.self) {
            try gate.check(
                request(
                    isPost: true, host: "console.example", origin: "https://console.example", cookie: cookie),
                needsSession: true)
        }
        #expect(throws: Gatekeeper.Refusal.self) {
            try gate.check(
                request(
                    isPost: true, host: "console.example", origin: "http://console.example", cookie: cookie),
                needsSession: true)
        }
    }
}
