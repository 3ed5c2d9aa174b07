import Testing

@testable import WaypostConsole

/// Who may ask the console for something: attacks from other pages and other names.
@Suite struct GatekeeperTests {
    private let gate = Gatekeeper(token: "0123456789abcdef", address: "127.0.0.1", port: 8750)

    private func request(
        hosts: [String] = ["127.0.0.1:8750"], origin: String? = nil, bearer: String? = nil
    ) -> Gatekeeper.Request {
        Gatekeeper.Request(hosts: hosts, origin: origin, authorization: bearer.map { "Bearer " + $0 })
    }

    private let token = "0123456789abcdef"

    private func session() throws -> String { try #require(gate.openSession(request(bearer: token))) }

    @Test func `the token is exchanged for a secret that is not the token, and opens no further one`() throws
    {
        let session = try session()
        #expect(session != token)
        #expect(throws: Never.self) { try gate.check(request(bearer: session), needsSession: true) }
        #expect(gate.openSession(request(bearer: session)) == nil)
    }

    @Test(arguments: ["", "0123456789abcdeg", "0123456789abcdef0", "0"])
    func `another token opens nothing`(_ wrong: String) {
        #expect(gate.openSession(request(bearer: wrong)) == nil)
        #expect(throws: Gatekeeper.Refusal.noToken) {
            try gate.check(request(bearer: wrong), needsSession: true)
        }
    }

    @Test func `no secret, no answer`() {
        for authorization in [nil, "", "Basic \(token)", "bearer \(token)", "Bearer"] {
            #expect(throws: Gatekeeper.Refusal.noToken) {
                try gate.check(
                    Gatekeeper.Request(hosts: ["127.0.0.1:8750"], authorization: authorization),
                    needsSession: true)
            }
        }
    }

    @Test(arguments: [
        "attacker.example:8750", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8750.attacker.example", "", ":8750",
        "127.0.0.1:8750:8750", "127.0.0.1:x", "127.0.0.1:-1",
    ])
    func `a name of someone else that leads here gets no answer`(_ host: String) throws {
        let session = try session()
        #expect(throws: Gatekeeper.Refusal.self) {
            try gate.check(request(hosts: [host], bearer: session), needsSession: true)
        }
        #expect(throws: Gatekeeper.Refusal.self) {
            try gate.check(request(hosts: [host]), needsSession: false)
        }
    }

    @Test(arguments: [
        "127.0.0.1:8750", "LOCALHOST:8750", "localhost.:8750", "[::1]:8750", "[0:0:0:0:0:0:0:1]:8750",
    ])
    func `its own names are known however they are written`(_ host: String) {
        #expect(throws: Never.self) { try gate.check(request(hosts: [host]), needsSession: false) }
    }

    /// A proxy may look at the one, and the console at the other.
    @Test func `two Host lines are refused, and none too`() {
        for hosts in [["127.0.0.1:8750", "attacker.example"], ["127.0.0.1:8750", "127.0.0.1:8750"], []] {
            #expect(throws: Gatekeeper.Refusal.self) {
                try gate.check(request(hosts: hosts, bearer: token), needsSession: true)
            }
        }
    }

    @Test(arguments: [
        "http://attacker.example", "null", "https://127.0.0.1:8750", "http://127.0.0.1:8751", "",
    ])
    func `another page gets no answer, whatever it shows`(_ origin: String) throws {
        #expect(throws: Gatekeeper.Refusal.foreign("Origin \(origin.debugDescription)")) {
            try gate.check(request(origin: origin, bearer: token), needsSession: true)
        }
    }

    @Test func `the oldest of very many browsers shows the token again`() throws {
        let first = try session()
        for _ in 0..<64 { _ = try session() }
        #expect(throws: Gatekeeper.Refusal.noToken) {
            try gate.check(request(bearer: first), needsSession: true)
        }
    }

    @Test(arguments: ["console.example", "console.example:8443"])
    func `behind a proxy only its name counts for pages`(_ name: String) throws {
        let gate = Gatekeeper(token: token, address: "10.0.0.5", port: 8750, proxy: name)
        #expect(throws: Never.self) {
            for host in [name, name.uppercased()] + (name.contains(":") ? [] : [name + ":443", name + "."]) {
                try gate.check(
                    request(hosts: [host], origin: "https://\(host)", bearer: token), needsSession: true)
            }
        }
        for origin in ["http://\(name)", "https://\(name).attacker.example", "http://10.0.0.5:8750"] {
            #expect(throws: Gatekeeper.Refusal.self) {
                try gate.check(request(hosts: [name], origin: origin, bearer: token), needsSession: true)
            }
        }
    }
}
