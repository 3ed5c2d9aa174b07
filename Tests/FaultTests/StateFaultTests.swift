import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// What the file system does to the state directory, and what the agent makes of it.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `A state directory in trouble` {
    private static let command = "waypost/v1/k1/cmd/me"

    private func newDirectory() -> String { NSTemporaryDirectory() + "waypost-fault-\(UUID().uuidString)" }

    /// An agent's state after it has applied a map and run a command.
    private func used(_ broker: TestBroker) async throws -> String {
        let backend = try await Backend(broker: broker.url)
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        let reply = try await backend.command(#"{"id":"first","type":"ping"}"#, to: "k1")
        #expect(reply.code == .ok)
        #expect(try await agent.terminate() == 0)
        await backend.disconnect()
        return agent.directory
    }

    private func damage(_ directory: String) throws {
        let path = directory + "/waypost.sqlite"
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.write(contentsOf: Data(repeating: 0x5A, count: 4096))
        try file.close()
    }

    @Test func `a damaged file is refused with what to do, and set aside when told to`() async throws {
        let broker = try await TestBroker.start()
        let directory = try await used(broker)
        try damage(directory)
        let refused = try RunningAgent("k1", broker: broker.url, directory: directory)
        try await refused.printed("--fresh-state")
        // systemd does not start it again.
        #expect(try await refused.ended() == 65)

        let fresh = try RunningAgent(
            "k1", broker: broker.url, directory: directory, arguments: ["--demo", "--fresh-state"])
        try await fresh.printed("renamed to")
        try await fresh.online()
        #expect(try await fresh.terminate() == 0)
        let files = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(files.contains { $0.hasPrefix("waypost.sqlite.damaged-") })
        #expect(files.contains("waypost.sqlite"))
    }

    @Test func `an intact file stays, also when a fresh one was allowed`() async throws {
        let broker = try await TestBroker.start()
        let directory = try await used(broker)
        let backend = try await Backend(broker: broker.url)
        let agent = try RunningAgent(
            "k1", broker: broker.url, directory: directory, arguments: ["--demo", "--fresh-state"])
        try await agent.online()
        let again = try await backend.command(#"{"id":"first","type":"ping"}"#, to: "k1")
        #expect(again.isDuplicate)
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    private static let append =
        #"{"id":"kept","type":"call","service":"LedgerService","method":"append","args":["once"]}"#

    /// An agent's state after kill -9, with the reply to a command delivered, and its log.
    private func killed(_ broker: TestBroker, _ backend: Backend) async throws -> (String, log: URL) {
        let agent = try AgentProcess("k1", broker: broker.url)
        try await agent.online()
        #expect(try await backend.command(Self.append, to: "k1").code == .ok)
        try await agent.kill()
        return (agent.directory, URL(fileURLWithPath: agent.directory + "/waypost.sqlite-wal"))
    }

    @Test func `a log that ends in a commit that was being written is read as far as it is whole`()
        async throws
    {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let (directory, log) = try await killed(broker, backend)
        let bytes = try Data(contentsOf: log)
        try (bytes + bytes.suffix(4_120).prefix(3_000)).write(to: log)
        let agent = try RunningAgent("k1", broker: broker.url, directory: directory)
        try await agent.online()
        #expect(try await backend.command(Self.append, to: "k1").code == .ok)
        #expect(try await backend.command(#"{"id":"next","type":"ping"}"#, to: "k1").code == .ok)
        #expect(agent.ledger == ["once"])
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    // It was read as far as it was whole, and what had been acknowledged ran again.
    @Test func `a log that is cut before the last commit is refused, and the doctor says the same`()
        async throws
    {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let (directory, log) = try await killed(broker, backend)
        await backend.disconnect()
        let bytes = try Data(contentsOf: log)
        // kill -9 may have come between the last commit and its number in the marker: then that one was not promised.
        let commits = Self.ends(ofCommitsIn: bytes)
        try bytes.prefix(try #require(commits.dropLast().last) - 100).write(to: log)
        try await isRefused(directory, "had been stored: it is an older copy, or \(log.path) is missing, cut")
    }

    /// Where the commits of a log end; its header has 32 bytes, each frame 24 and a page (SQLite, The WAL file format).
    private static func ends(ofCommitsIn log: Data) -> [Int] {
        stride(from: 32, through: log.count - 4_120, by: 4_120).filter { frame in
            log[frame + 4..<frame + 8].contains { $0 != 0 }
        }.map { $0 + 4_120 }
    }

    /// Checks that neither the agent starts nor the doctor is content, and that both say why.
    private func isRefused(_ directory: String, _ sentence: String) async throws {
        let agent = try RunningAgent("k1", broker: "mqtt://127.0.0.1:1", directory: directory)
        try await agent.printed(sentence)
        #expect(try await agent.ended() == 65)
        let doctor = try await RunningCommand.run([
            "doctor", "--local", "--agent", "k1", "--state", directory,
        ])
        #expect(doctor.status == 1)
        #expect(doctor.output.contains { $0.contains(sentence) }, "\(doctor.output)")
    }

    @Test func `a state file that is removed is missed, and a new one has a higher epoch`() async throws {
        let broker = try await TestBroker.start()
        let directory = try await used(broker)
        let file = directory + "/waypost.sqlite"
        try FileManager.default.removeItem(atPath: file)
        try await isRefused(directory, "\(file): the state file is missing, but waypost.marker shows")
        try Data().write(to: URL(fileURLWithPath: file))
        try await isRefused(directory, "\(file): the state file is empty, but waypost.marker shows")
        try FileManager.default.removeItem(atPath: file)
        #expect(mkfifo(file, 0o600) == 0)
        try await isRefused(directory, "\(file): it must be a file of Waypost's but is a named pipe")
        try FileManager.default.removeItem(atPath: file)

        let backend = try await Backend(broker: broker.url)
        let before = try await backend.message(on: "waypost/v1/k1/state")
        let agent = try RunningAgent(
            "k1", broker: broker.url, directory: directory, arguments: ["--demo", "--fresh-state"])
        let report = try await backend.message(on: "waypost/v1/k1/fail") { $0["name"] == "DISK" }
        #expect(report["detail"]?.stringValue?.contains("forgotten") == true)
        let birth = try await backend.message(on: "waypost/v1/k1/state") { $0["why"] == "birth" }
        #expect(try #require(birth["epoch"]?.intValue) > #require(before["epoch"]?.intValue))
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    @Test(arguments: ["lock", "waypost.sqlite", "waypost.sqlite-wal", "waypost.marker"])
    func `a first start that is killed as soon as a file is there is followed by one that serves`(
        name: String
    ) async throws {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let directory = newDirectory()
        let first = try AgentProcess("k1", broker: broker.url, directory: directory)
        try await eventually("\(name)") { FileManager.default.fileExists(atPath: "\(directory)/\(name)") }
        try await first.kill()
        let agent = try RunningAgent("k1", broker: broker.url, directory: directory)
        try await agent.online()
        #expect(try await backend.command(#"{"id":"a","type":"ping"}"#, to: "k1").code == .ok)
        // The next one has nothing to say of it any more.
        #expect(try await agent.terminate() == 0)
        let next = try RunningAgent("k1", broker: broker.url, directory: directory)
        try await next.online()
        #expect(!next.lines.contains { $0.contains("waypost.sqlite") }, "\(next.lines)")
        #expect(try await next.terminate() == 0)
        let births = backend.seen.filter { $0.topic.hasSuffix("/state") }.compactMap(\.json)
            .filter { $0["why"] == "birth" }.compactMap { $0["epoch"]?.intValue }
        #expect(births.count >= 2 && births == Array(Set(births)).sorted())
        await backend.disconnect()
    }

    @Test(.enabled(if: SmallDisk.isPossible, "takes the right to mount a file system"))
    func `a file system that is mounted read-only is named at the start`() async throws {
        let disk = try SmallDisk(kibibytes: 2_048)
        defer { disk.end() }
        let broker = try await TestBroker.start()
        let agent = try AgentProcess("k1", broker: broker.url, directory: disk.path + "/state")
        try await agent.online()
        #expect(try await agent.terminate() == 0)
        try disk.makeReadOnly()
        let refused = try AgentProcess("k1", broker: broker.url, directory: disk.path + "/state")
        try await refused.printed("Read-only file system; choose another with --state")
        #expect(try await refused.ended() == 1)
    }

    @Test func `a place where nothing can be written is named at the start`() async throws {
        let file = newDirectory()
        try "a file".write(toFile: file, atomically: true, encoding: .utf8)
        let agent = try RunningAgent("k1", broker: "mqtt://127.0.0.1:1", directory: file + "/state")
        try await agent.printed(file)
        #expect(try await agent.ended() != 0)
    }

    @Test func `nothing is acknowledged while the directory is away, and all is done at its return`()
        async throws
    {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        let elsewhere = newDirectory()
        try FileManager.default.moveItem(atPath: agent.directory, toPath: elsewhere)
        try await backend.publish(
            #"{"id":"away","ttl":900000,"type":"call","service":"CalculatorService","method":"add","args":[2,40]}"#,
            to: Self.command)
        let report = try await backend.message(on: "waypost/v1/k1/fail") { $0["name"] == "DISK" }
        #expect(report["detail"]?.stringValue?.contains(agent.directory) == true)
        #expect(!backend.seen.contains { $0.topic.hasSuffix("/reply/me") })
        try FileManager.default.moveItem(atPath: elsewhere, toPath: agent.directory)
        #expect(try await backend.reply(to: "away", of: "k1").result == 42)
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    // SQLite goes on writing into a log that has no name any more, and after a kill all of that is gone.
    @Test(arguments: [true, false])
    func `nothing is acknowledged while the log is not the one that was opened`(isReplaced: Bool) async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        let log = agent.directory + "/waypost.sqlite-wal"
        let bytes = try Data(contentsOf: URL(fileURLWithPath: log))
        try FileManager.default.removeItem(atPath: log)
        if isReplaced { try bytes.write(to: URL(fileURLWithPath: log)) }
        try await backend.publish(
            #"{"id":"gone","type":"call","service":"CalculatorService","method":"add","args":[2,40]}"#,
            to: Self.command)
        let report = try await backend.message(on: "waypost/v1/k1/fail") { $0["name"] == "DISK" }
        #expect(report["detail"]?.stringValue?.contains(log) == true)
        #expect(!backend.seen.contains { $0.topic.hasSuffix("/reply/me") })
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    /// An agent whose disk is full, and the ids of the commands that were sent to it since.
    private func agentOnFullDisk(
        _ disk: SmallDisk, _ broker: TestBroker, _ backend: Backend
    ) async throws -> (AgentProcess, [String]) {
        let agent = try AgentProcess("k1", broker: broker.url, directory: disk.path + "/state")
        try await agent.online()
        try disk.fill()
        // The log of the database may have space for some commands yet; what they do needs none.
        let ids = (0..<60).map { "full-\($0)" }
        for id in ids {
            try await backend.publish(
                #"{"id":"\#(id)","ttl":900000,"type":"call","service":"CalculatorService","method":"add","args":[2,40]}"#,
                to: Self.command)
        }
        return (agent, ids)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "takes the right to mount a file system"))
    func `a full disk acknowledges nothing, says so at QoS 0, and all is done once there is room`()
        async throws
    {
        let disk = try SmallDisk(kibibytes: 2_048)
        defer { disk.end() }
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let (agent, ids) = try await agentOnFullDisk(disk, broker, backend)
        let report = try await backend.message(on: "waypost/v1/k1/fail") { $0["name"] == "DISK" }
        #expect(report["code"] == 503)
        // Who looks at the machine is told which disk it is.
        let line = try await agent.printed("cannot store messages")
        #expect(line.contains("\(agent.directory)/waypost.sqlite: no space left"), "\(line)")
        // Who looks at the list was asked whether the network is there.
        _ = try await backend.message(on: "waypost/v1/k1/state") { $0["last"]?["name"] == "DISK" }
        disk.makeRoom()
        // It comes back after a pause that has grown up to a minute.
        try await backend.wait(for: "the first reply", within: .seconds(90)) { seen in
            seen.contains { $0.topic == "waypost/v1/k1/reply/me" }
        }
        for id in ids {
            let reply = try await backend.reply(to: id, of: "k1")
            #expect(reply.status == .ok, "\(reply.code) \(reply.detail ?? "")")
        }
        try await backend.wait(for: "the failure, once it can be stored") { seen in
            seen.contains { seen in
                seen.topic == "waypost/v1/k1/log/e"
                    && seen.lines.contains { $0["msg"]?.stringValue?.contains("503 DISK") == true }
            }
        }
        let past = try await RunningCommand.run(["failures", "--agent", "k1", "--broker", broker.url])
        #expect(past.output.contains { $0.contains("503 DISK") }, "\(past)")
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "takes the right to mount a file system"))
    func `SIGTERM on a full disk ends it, and the next start answers what it had`() async throws {
        let disk = try SmallDisk(kibibytes: 2_048)
        defer { disk.end() }
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let (agent, ids) = try await agentOnFullDisk(disk, broker, backend)
        _ = try await backend.message(on: "waypost/v1/k1/fail") { $0["name"] == "DISK" }
        // The journal tried for ever, and the stop waited for it.
        #expect(try await agent.terminate() == 0)
        disk.makeRoom()
        let again = try AgentProcess("k1", broker: broker.url, directory: disk.path + "/state")
        for id in ids { #expect(try await backend.reply(to: id, of: "k1").status == .ok) }
        await backend.disconnect()
        #expect(try await again.terminate() == 0)
    }

    @Test func `SIGTERM under load ends it with 0, and the next start answers the rest`() async throws {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        var agent = try AgentProcess(
            "k1", broker: broker.url, arguments: ["--demo", "--intake-rate", "0"])
        try await agent.online()
        let ids = (0..<300).map { "load-\($0)" }
        for (index, id) in ids.enumerated() {
            try await backend.publish(
                #"{"id":"\#(id)","ttl":900000,"lane":"l\#(index % 7)","type":"call","service":"LedgerService","method":"append","args":["\#(id)"]}"#,
                to: Self.command)
            if index == 150 { agent.signalTermination() }
        }
        #expect(try await agent.ended() == 0)
        agent = try AgentProcess(
            "k1", broker: broker.url, directory: agent.directory,
            arguments: ["--demo", "--intake-rate", "0"])
        for id in ids {
            let reply = try await backend.reply(to: id, of: "k1")
            #expect(reply.status == .ok, "\(id): \(reply.code.name) \(reply.detail ?? "")")
        }
        try await agent.online()
        #expect(try await agent.terminate() == 0)
        await backend.disconnect()
        let ledger = try String(contentsOfFile: agent.directory + "/ledger.txt", encoding: .utf8)
            .split(separator: "\n").map(String.init)
        #expect(ledger.sorted() == ids.sorted())
    }
}
