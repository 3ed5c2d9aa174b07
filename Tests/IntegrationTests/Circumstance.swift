import CommandSupport
import Foundation
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

/// A broker and what is around it, for one row.
final class Fixture: Sendable {
    let broker: TestBroker
    let backend: Backend
    let certificates: TestCertificates?
    /// The port of the listener with TLS.
    let securePort: UInt16
    let version: String
    /// Those that were started, which end with the fixture.
    private let agents = Guarded<[any ObservedAgent]>([])

    init(_ given: Circumstance, _ version: String) async throws {
        self.version = version
        certificates = given == .strangeCertificate ? try await offThePool { try TestCertificates() } : nil
        securePort = try FreePort.find()
        var configuration = ["allow_anonymous true"]
        var files: [String: String] = [:]
        switch given {
        case .wrongPassword:
            configuration.append("password_file @dir/passwords")
            files["passwords"] = try await offThePool {
                try TestBroker.passwordFile(user: "k1", password: "right").get()
            }
            files["password"] = "wrong\n"
        case .strangeCertificate:
            configuration += [
                "listener \(securePort) 127.0.0.1", "certfile \(certificates?["server.pem"] ?? "")",
                "keyfile \(certificates?["server.key"] ?? "")",
            ]
        case .noEcho:
            configuration.append("acl_file @dir/acl")
            files["acl"] = "topic readwrite #\ntopic deny waypost/v1/k1/echo\n"
        case .noSubscription:
            configuration += [
                "plugin \(try Self.dynamicSecurity())", "plugin_opt_config_file @dir/security.json",
            ]
            files["security.json"] = Self.deaf
        case .outboxFull: configuration += ["persistence true", "persistence_location @dir/"]
        default: break
        }
        broker = try await TestBroker.start(configuration, files: files)
        backend = try await Backend(broker: broker.url)
    }

    /// Starts the agent, with the demo's features and what a row needs.
    func agent(
        _ arguments: [String] = [], directory: String? = nil, features: [String] = ["--demo"]
    ) throws -> RunningAgent {
        let agent = try RunningAgent(
            "k1", broker: broker.url, directory: directory,
            arguments: features + ["--mqtt", version] + arguments)
        agents.withLock { $0.append(agent) }
        return agent
    }

    /// As ``agent(_:directory:features:)``, as a process: for what concerns all of one.
    func process(
        _ arguments: [String] = [], url: String? = nil, environment: [String: String] = [:]
    ) throws -> AgentProcess {
        let agent = try AgentProcess(
            "k1", broker: url ?? broker.url, arguments: ["--demo", "--mqtt", version] + arguments,
            environment: environment)
        agents.withLock { $0.append(agent) }
        return agent
    }

    /// Starts the broker anew while the agent stands still, so that a backend is there before the agent is.
    func restart(
        before agent: AgentProcess, _ restart: () async throws -> Void,
        then send: (Backend) async throws -> Void = { _ in }
    ) async throws -> Backend {
        try await agent.freeze()
        defer { agent.thaw() }
        try await restart()
        let backend = try await Backend(broker: broker.url)
        try await send(backend)
        return backend
    }

    /// mosquitto's access file can't refuse a subscription; its plugin can.
    private static func dynamicSecurity() throws -> String {
        let name = "mosquitto_dynamic_security.so"
        let libraries = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
        let found = ["/usr/lib/\(name)"] + libraries.map { "/usr/lib/\($0)/\(name)" }
        return try #require(
            found.first { FileManager.default.fileExists(atPath: $0) },
            "\(name), which belongs to mosquitto, is not under /usr/lib")
    }

    private static let deaf = """
        {"defaultACLAccess":{"publishClientSend":true,"publishClientReceive":true,"subscribe":true,"unsubscribe":true},
         "roles":[{"rolename":"deaf","acls":[
            {"acltype":"subscribeLiteral","topic":"waypost/v1/k1/cmd/+","priority":0,"allow":false}]}],
         "groups":[{"groupname":"all","roles":[{"rolename":"deaf","priority":0}]}],
         "anonymousGroup":"all","clients":[]}
        """
}

/// What is given when a row's messages are sent.
enum Circumstance: String {
    case well = "all is well"
    case signatures = "signatures are asked for"
    case retained = "it was retained before the agent came"
    case death = "the agent dies after it started a command"
    case noState = "the state directory is away"
    case wrongClock = "the clock is years behind"
    case outboxFull = "the outbox is full"
    case wrongPassword = "the broker refuses the agent"
    case strangeCertificate = "the broker's certificate is not trusted"
    case noEcho = "the broker keeps the echo back"
    case twoAgents = "another agent has the name"
    case forgetfulBroker = "the broker forgets"
    case noSubscription = "the broker refuses a subscription"
    case stalledLoop = "the link's thread stands still"
    case noFeatures = "the program has no features"
    case brokenModule = "a feature module can't be set up"

    /// Makes it so, and sends what the row sends; returns the backend that sees what comes of it.
    func play(_ fixture: Fixture, _ row: VectorRow) async throws -> Backend {
        switch self {
        case .well: try await send(row, fixture, to: try fixture.agent())
        case .noFeatures: try await send(row, fixture, to: try fixture.agent(features: []))
        case .signatures:
            // The private half of `vectors` is 32 bytes of 7; what the rows contain is signed with it.
            for name in ["release.pub", "vectors.pub"] {
                let path = fixture.broker.directory + "/" + name
                try VectorRow.file(name).write(toFile: path, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            }
            try await send(
                row, fixture,
                to: fixture.agent([
                    "--trust-key", fixture.broker.directory + "/release.pub",
                    "--trust-key", fixture.broker.directory + "/vectors.pub", "--signed-commands",
                ]))
        case .retained:
            try await row.send(fixture.backend, retained: true)
            try await fixture.agent().online()
        case .death:
            let dying = try fixture.process(environment: ["WAYPOST_FAULT": "after-started"])
            try await dying.online()
            try await row.send(fixture.backend)
            _ = try await dying.ended()
            try await fixture.agent(directory: dying.directory).online()
        case .noState:
            let agent = try fixture.agent()
            try await agent.online()
            try FileManager.default.moveItem(atPath: agent.directory, toPath: agent.directory + "-away")
            try await row.send(fixture.backend)
        case .wrongClock:
            // Ten years.
            try await send(
                row, fixture, to: fixture.process(environment: ["WAYPOST_CLOCK_OFFSET": "-315360000000"]))
        case .outboxFull: return try await fillOutbox(fixture, row)
        case .wrongPassword:
            let password = fixture.broker.directory + "/password"
            let agent = try fixture.process(["--username", "k1", "--password-file", password])
            try await agent.printed("refused with")
            try Data("right\n".utf8).write(to: URL(fileURLWithPath: password))
            kill(agent.processID, SIGHUP)
            try await agent.online()
        case .strangeCertificate:
            let certificates = try #require(fixture.certificates)
            try certificates.copy("other-ca.pem", to: "trusted.pem")
            let agent = try fixture.process(
                ["--ca-file", certificates["trusted.pem"]], url: "mqtts://localhost:\(fixture.securePort)")
            try await agent.printed("certificate")
            try certificates.copy("ca.pem", to: "trusted.pem")
            kill(agent.processID, SIGHUP)
            try await agent.online()
            certificates.remove()
        case .noEcho: try await fixture.agent(["--health-interval", "1"]).online()
        case .twoAgents:
            // They take the session from each other until one of them sees why, and keeps away for minutes; what it
            // has to say is on its disk.
            let agents = [try fixture.agent(), try fixture.agent()]
            var loser: RunningAgent?
            try await eventually(
                "one of the two to give way", progress: { agents.reduce(0) { $0 + $1.lines.count } }
            ) {
                loser = agents.first { $0.lines.contains { $0.contains("its own client id") } }
                return loser != nil
            }
            for agent in agents { _ = try await agent.terminate() }
            try await fixture.agent(directory: loser?.directory).online()
        case .forgetfulBroker:
            let agent = try fixture.process()
            try await agent.online()
            return try await fixture.restart(before: agent) {
                try await fixture.broker.kill()
                try await fixture.broker.start()
            }
        case .noSubscription: _ = try fixture.agent()
        case .brokenModule:
            let directory = NSTemporaryDirectory() + "waypost-no-paper-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try Data().write(to: URL(fileURLWithPath: directory + "/no-paper"))
            try await send(row, fixture, to: fixture.agent(directory: directory))
        case .stalledLoop:
            try await send(
                row, fixture, to: fixture.process(environment: ["WAYPOST_STALL": "before-store:1:35000"]))
        }
        return fixture.backend
    }

    /// Has twenty commands fail while the broker is away, of which the outbox takes five; the row's command comes with the
    /// broker's return, before it can have taken a report.
    private func fillOutbox(_ fixture: Fixture, _ row: VectorRow) async throws -> Backend {
        // One message at a time, so that the reports have not left when the row's command comes.
        let agent = try fixture.process([
            "--outbox-records", "5", "--in-flight", "1", "--handler-deadline", "600",
        ])
        try await agent.online()
        let expires = Int64(Date().timeIntervalSince1970 * 1_000) + 600_000
        var nap: Int64 = 3_000
        // Frozen while the others wait behind the nap, and until the broker is gone: no report leaves, however long that
        // takes. Where a busy machine came to it after the nap, all of it is done again with a longer one.
        while true {
            let began = ContinuousClock.now
            var commands = [
                #""id":"nap\#(nap)","type":"call","service":"ClockService","method":"sleep","args":[\#(nap)]"#
            ]
            commands += (0..<20).map {
                #""id":"f\#(nap)-\#($0)","type":"open","url":"scheme://router/none/\#($0)"# + "\""
            }
            commands.append(
                #""id":"end\#(nap)","type":"call","service":"LedgerService","method":"append","args":["end\#(nap)"]"#
            )
            for command in commands {
                try await fixture.backend.publish(
                    "{\"lane\":\"one\",\"exp\":\(expires),\(command)}", to: "waypost/v1/k1/cmd/me")
            }
            // Behind the others, so that its answer says that they are all there.
            _ = try await fixture.backend.command(#"{"id":"all\#(nap)","type":"ping"}"#, to: "k1")
            try await agent.freeze()
            if ContinuousClock.now - began < .milliseconds(nap) { break }
            agent.thaw()
            // Until all have run and been reported: with a full outbox it would refuse some of the next.
            var count = 0
            try await eventually("the reports to leave", within: .seconds(300)) {
                count += 1
                let health = try await fixture.backend.command(
                    #"{"id":"left\#(nap)-\#(count)","type":"ping"}"#, to: "k1")
                let waiting = health.result["waiting"]
                return waiting?["commands"]?.intValue == 0 && waiting?["outbox"]?.intValue == 0
            }
            nap *= 4
        }
        try await fixture.broker.stop()
        agent.thaw()
        let ledger = agent.directory + "/ledger.txt"
        // Behind the nap, in which nothing is to be seen.
        try await eventually("the last command to run", within: .seconds(300)) {
            (try? String(contentsOfFile: ledger, encoding: .utf8))?.contains("end\(nap)") == true
        }
        return try await fixture.restart(before: agent) {
            try await fixture.broker.start()
        } then: { backend in
            try await row.send(backend)
        }
    }

    private func send(_ row: VectorRow, _ fixture: Fixture, to agent: some ObservedAgent) async throws {
        try await agent.online()
        try await row.send(fixture.backend)
    }
}
