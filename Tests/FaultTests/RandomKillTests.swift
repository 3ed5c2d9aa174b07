import Foundation
import MQTTLink
import Synchronization
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// Load, and kill -9 at any time: of the agent every round, of the broker every tenth.
///
/// `WAYPOST_SOAK_ROUNDS` sets the number of rounds, 50 unless set; `WAYPOST_SOAK_SEED` repeats a run's choices.
@Suite(.aFewAtATime, .serialized) struct `Random kills` {
    @Test
    func `every command ends in one status, nothing runs twice and nothing that was answered is missing`()
        async throws
    {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["WAYPOST_SOAK_ROUNDS"].flatMap(Int.init) ?? 50
        let seed = environment["WAYPOST_SOAK_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)

        let broker = try await TestBroker.start([
            "allow_anonymous true", "persistence true", "persistence_location @dir/", "autosave_interval 1",
            "max_queued_messages 0",
        ])
        let sender = Sender(broker: broker)
        let directory = NSTemporaryDirectory() + "waypost-soak-\(UUID().uuidString)"
        var number = 0
        for round in 0..<rounds {
            let agent = try AgentProcess(
                "soak", broker: broker.url, directory: directory, arguments: ["--demo", "--intake-rate", "0"])
            if round == 0 { try await agent.online() }
            let lifetime = Double.random(in: 0...2, using: &random)
            let rate = Int.random(in: 20...200, using: &random)
            for _ in 0..<max(1, Int(Double(rate) * lifetime)) {
                number += 1
                await sender.send(command(number, &random), id: "c\(number)")
            }
            // Not a wait for something to happen: the moment of the kill is what is drawn by lot.
            try await Task.sleep(for: .milliseconds(Int(lifetime * 1000) / 2))
            try await agent.kill()
            // A soak goes on for hours; whoever started it wants to see it move.
            if rounds > 100, round % 100 == 99 {
                print("round \(round + 1) of \(rounds), \(number) commands, seed \(seed)")
            }
            if round % 10 == 9 {
                try await broker.kill()
                try await broker.start()
            }
        }
        let agent = try AgentProcess(
            "soak", broker: broker.url, directory: directory, arguments: ["--demo", "--intake-rate", "0"])
        try await sender.settleAll()
        try await agent.online()
        #expect(try await agent.terminate() == 0)

        let replies = await sender.replies
        #expect(replies.count == number, "seed \(seed): \(number - replies.count) commands have no reply")
        let ambiguous = replies.filter { Set($0.value.map(\.content)).count != 1 }
        #expect(ambiguous.isEmpty, "seed \(seed): more than one end: \(ambiguous.keys.sorted().prefix(5))")

        let ledger = try String(contentsOfFile: directory + "/ledger.txt", encoding: .utf8)
            .split(separator: "\n").map(String.init)
        let entries = ledger.filter { $0.hasPrefix("entry-") }
        #expect(Set(entries).count == entries.count, "seed \(seed): an entry stands twice in the ledger")
        let answered = replies.filter { $0.value.contains { $0.isOK && $0.isAppend } }.keys
        let missing = Set(answered.map { "entry-\($0)" }).subtracting(entries)
        #expect(
            missing.isEmpty, "seed \(seed): answered ok and not in the ledger: \(missing.sorted().prefix(5))")
        await sender.leave()
    }

    private func command(_ number: Int, _ random: inout SeededGenerator) -> (payload: String, isAppend: Bool)
    {
        let id = "c\(number)"
        let expires = Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000
        let head = #"{"id":"\#(id)","exp":\#(expires)"#
        let service = #""type":"call","service":"LedgerService""#
        switch Int.random(in: 0..<4, using: &random) {
        case 0, 1:
            return (head + #",\#(service),"method":"append","args":["entry-\#(id)"]}"#, true)
        case 2:
            return (head + #",\#(service),"method":"put","args":["\#(id)","v"]}"#, false)
        default:
            return (head + #","type":"open","url":"scheme://router/user/\#(number)"}"#, false)
        }
    }
}

/// A sender that keeps sending a command, with the same bytes, until it has the terminal reply: what a careful
/// backend does, since a broker that is killed forgets.
private actor Sender {
    struct Answer: Sendable, Hashable {
        var content: String
        var isOK: Bool
        var isAppend: Bool
    }

    private(set) var replies: [String: [Answer]] = [:]
    private var sent: [String: (payload: String, isAppend: Bool)] = [:]
    private var session: MQTTSession?
    private var reader: Task<Void, Never>?
    private let broker: TestBroker

    init(broker: TestBroker) { self.broker = broker }

    func send(_ command: (payload: String, isAppend: Bool), id: String) async {
        sent[id] = command
        await publish(command.payload)
    }

    /// Sends again what has no reply, until everything has one.
    func settleAll() async throws {
        var idleRounds = 0
        while idleRounds < 120 {
            let open = sent.keys.filter { replies[$0] == nil }
            if open.isEmpty { return }
            for id in open.prefix(2_000) { await publish(sent[id]?.payload ?? "") }
            let before = replies.count
            for _ in 0..<50 where sent.count > replies.count && replies.count == before {
                try await Task.sleep(for: .milliseconds(100))
            }
            idleRounds = replies.count == before ? idleRounds + 1 : 0
        }
    }

    func leave() async {
        await session?.disconnect()
        reader?.cancel()
    }

    private func publish(_ payload: String) async {
        guard let session = await connected() else { return }
        let message = MQTTMessage(topic: "waypost/v1/soak/cmd/soak", payload: Array(payload.utf8))
        do {
            _ = try await session.publish(message)
        } catch {
            self.session = nil
        }
    }

    private func connected() async -> MQTTSession? {
        if let session, session.endReason == nil { return session }
        guard let url = try? BrokerURL(broker.url),
            let session = try? await MQTTSession.connect(
                .oneShot(brokers: [url], clientID: "soak-\(UInt32.random(in: 0...UInt32.max))"),
                within: .seconds(30), messageLimit: 1_000_000),
            (try? await session.subscribe([Subscription("waypost/v1/soak/reply/soak")])) != nil
        else { return nil }
        self.session = session
        reader = Task { for await message in session.messages { self.took(message) } }
        return session
    }

    private func took(_ message: MQTTMessage) {
        guard let json = try? JSONValue(parsing: message.payload), let reply = try? Reply(json),
            // On a starved machine more may wait than the agent takes: BUSY is no end, it asks to try again.
            reply.status != .accepted, reply.code != .busy
        else { return }
        var content = reply
        content.isDuplicate = false
        replies[reply.id, default: []].append(
            Answer(
                content: String(decoding: content.encoded(), as: UTF8.self), isOK: reply.status == .ok,
                isAppend: sent[reply.id]?.isAppend ?? false))
    }
}
