import Foundation
import MQTTLink
import Synchronization
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// Load, a hostile sender beside it, and kill -9 at any time: of the agent every round, of the broker every tenth;
/// in every other round something else goes wrong before.
///
/// `WAYPOST_SOAK_ROUNDS` sets the number of rounds, 15 unless set; `WAYPOST_SOAK_SEED` repeats a run's choices.
@Suite(.aFewAtATime) struct `Random kills` {
    /// The rate limit is on: a sender that has too much gets BUSY, and never for what has ended already.
    private static let arguments = [
        "--demo", "--intake-rate", "500", "--intake-burst", "200", "--dedupe-keys", "1000000",
        // A quarter of it for all commands of a thousand rounds: a clock that was ahead makes them stay for hours.
        "--store-bytes", "1073741824",
    ]

    @Test
    func `every command ends in one status, nothing runs twice and nothing that was answered is missing`()
        async throws
    {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["WAYPOST_SOAK_ROUNDS"].flatMap(Int.init) ?? 15
        let seed = environment["WAYPOST_SOAK_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)

        let broker = try await TestBroker.start([
            "allow_anonymous true", "persistence true", "persistence_location @dir/", "autosave_interval 1",
            "max_queued_messages 0",
        ])
        let sender = Sender(broker: broker)
        let surroundings = try Surroundings(broker: broker)
        defer { surroundings.end() }
        let directory = surroundings.directory
        func startAgent() throws -> AgentProcess {
            try AgentProcess(
                "soak", broker: broker.url, directory: directory, arguments: Self.arguments,
                environment: surroundings.environment)
        }
        let hostile = HostileSender(broker: broker, seed: random.next())
        let hostility = Task { await hostile.run() }
        var number = 0
        var revision = 0
        var peaks: [Int] = []
        for round in 0..<rounds {
            let agent = try startAgent()
            if round == 0 { try await agent.online() }
            let trouble = round % 2 == 1 ? Trouble.drawn(&random) : .none
            async let isOver: Void = surroundings.make(trouble, for: agent)
            let lifetime = Double.random(in: 0...2, using: &random)
            let rate = Int.random(in: 20...200, using: &random)
            for _ in 0..<max(1, Int(Double(rate) * lifetime)) {
                number += 1
                await sender.send(command(number, &random), id: "c\(number)")
                // Between the arrival of a command and its start, so that it leads elsewhere.
                if Int.random(in: 0..<20, using: &random) == 0 {
                    revision += 1
                    await sender.publishMap(revision, isOn: Bool.random(using: &random))
                }
            }
            // Not a wait for something to happen: the moment of the kill is what is drawn by lot.
            try await Task.sleep(for: .milliseconds(Int(lifetime * 1000) / 2))
            if trouble.isOverBeforeTheKill { try await isOver }
            agent.peakMemory.map { peaks.append($0) }
            // After a kill the next one stores commands before it runs them, after a clean stop it does not.
            if trouble.isOverBeforeTheKill, Bool.random(using: &random) {
                _ = try await agent.terminate()
            } else {
                try await agent.kill()
            }
            try await isOver
            // A soak goes on for hours; whoever started it wants to see it move.
            if rounds > 100, round % 100 == 99 {
                let line = "round \(round + 1) of \(rounds), \(number) commands, seed \(seed)\n"
                // Not held back in a buffer.
                FileHandle.standardError.write(Data(line.utf8))
            }
            if round % 10 == 9 {
                try await broker.kill()
                try await broker.start()
            }
            // So that what is done is done among kills, and not all at the end.
            if round % 25 == 24 {
                let agent = try startAgent()
                try await sender.settleAll(by: agent)
                try await agent.kill()
            }
        }
        hostility.cancel()
        await hostility.value
        let agent = try startAgent()
        try await sender.settleAll(by: agent)
        try await agent.online()
        #expect(try await agent.terminate() == 0)

        let replies = await sender.replies
        #expect(replies.count == number, "seed \(seed): \(number - replies.count) commands have no reply")
        let ambiguous = replies.filter { Set($0.value.map(\.content)).count != 1 }
        #expect(ambiguous.isEmpty, "seed \(seed): more than one end: \(ambiguous.keys.sorted().prefix(5))")

        let ledger = try String(contentsOfFile: directory + "/ledger.txt", encoding: .utf8)
            .split(separator: "\n").map(String.init)
        let entries = ledger.filter { $0.hasPrefix("entry-") }
        let busy = await sender.busyAfterEnd
        #expect(busy.isEmpty, "seed \(seed): BUSY after an end: \(busy.sorted().prefix(5))")
        #expect(Set(entries).count == entries.count, "seed \(seed): an entry stands twice in the ledger")
        let answered = replies.filter { $0.value.contains { $0.isOK && $0.isAppend } }.keys
        let missing = Set(answered.map { "entry-\($0)" }).subtracting(entries)
        #expect(
            missing.isEmpty, "seed \(seed): answered ok and not in the ledger: \(missing.sorted().prefix(5))")
        // A process that is hit in its first moments has not used anything yet; the largest ones are compared.
        let (early, late) = (peaks.prefix(rounds / 2).max() ?? 0, peaks.suffix(rounds / 2).max() ?? 0)
        #expect(late <= early * 3 / 2, "seed \(seed): memory grew from \(early) to \(late) KiB")
        await sender.leave()
    }

    /// Half of them append to the ledger: by a service, by a module's service, by a route after one that passed, by an
    /// interceptor's redirect, or when a map is in force by the moment in which they start.
    private func command(_ number: Int, _ random: inout SeededGenerator) -> String {
        let id = "c\(number)"
        // Under a sanitizer it takes longer; an id that has expired is refused, and so may have two ends.
        let lifetime: Int64 = Sanitizer.isAbsent ? 900_000 : 14_400_000
        let expires = Int64(Date().timeIntervalSince1970 * 1000) + lifetime
        let head = #"{"id":"\#(id)","exp":\#(expires),"lane":"l\#(Int.random(in: 0...2, using: &random))""#
        let work =
            switch Int.random(in: 0..<10, using: &random) {
            case 0: #""type":"call","service":"LedgerService","method":"append","args":["entry-\#(id)"]"#
            case 1: #""type":"call","service":"PrinterService","method":"print","args":["entry-\#(id)"]"#
            case 2: #""type":"open","url":"scheme://router/append/entry-\#(id)""#
            case 3: #""type":"open","url":"scheme://router/old-append/entry-\#(id)""#
            case 4, 5: #""type":"open","url":"scheme://router/moved/entry-\#(id)""#
            case 6:
                #""type":"open","url":"scheme://services?protocol=LedgerService&method=append&ivar1=entry-\#(id)""#
            case 7 where number % 5 == 0:
                #""type":"call","service":"LedgerService","method":"put","args":["k\#(number % 50)","v"]"#
            default: #""type":"open","url":"scheme://router/user/\#(number)""#
            }
        return "\(head),\(work)}"
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

    /// The agent ended by itself.
    struct Ended: Error { var lines: [String] }

    private(set) var replies: [String: [Answer]] = [:]
    /// Ids for which BUSY came after their end: a second, different status.
    private(set) var busyAfterEnd: Set<String> = []
    private var sent: [String: String] = [:]
    private var session: MQTTSession?
    private var reader: Task<Void, Never>?
    private let broker: TestBroker

    init(broker: TestBroker) { self.broker = broker }

    func send(_ command: String, id: String) async {
        sent[id] = command
        await publish(command)
    }

    /// Publishes a map that leads `moved` to the ledger, or one that does not.
    func publishMap(_ revision: Int, isOn: Bool) async {
        let entry =
            #"{"routerType":1,"orginPath":"scheme://router/moved/**","targetPath":"scheme://router/append/**"}"#
        await publish(
            #"{"id":"m\#(revision)","type":"map","rev":\#(revision),"entries":[\#(isOn ? entry : "")]}"#,
            to: "waypost/v1/soak/map")
    }

    /// Sends again what has no reply, until everything has one.
    func settleAll(by agent: AgentProcess) async throws {
        // It may take hours, as long as replies come.
        var patience = Patience(atMost: .seconds(1_000_000))
        var calm = 10
        while !patience.isOver(at: replies.count) {
            // One that can't go on from what a kill left would be waited for without end.
            guard agent.command.isRunning else { throw Ended(lines: agent.lines.suffix(20)) }
            let before = replies.count
            try await waitForCalm(tenths: calm)
            let open = sent.keys.filter { replies[$0] == nil }
            if open.isEmpty { return }
            // What was sent before is still under way then, and the more is sent the longer it takes.
            if replies.count == before { calm = min(calm * 2, 100) }
            // No more than the agent takes at once: what is beyond twice the rate is not even answered.
            for id in open.prefix(300) { await publish(sent[id] ?? "") }
        }
    }

    /// Returns when everything has its reply, or when no reply has come for so many tenths of a second.
    private func waitForCalm(tenths: Int) async throws {
        var (last, quiet) = (replies.count, 0)
        while sent.count > replies.count, quiet < tenths {
            try await Task.sleep(for: .milliseconds(100))
            quiet = replies.count == last ? quiet + 1 : 0
            last = replies.count
        }
    }

    func leave() async {
        await session?.disconnect()
        reader?.cancel()
    }

    private func publish(_ payload: String, to topic: String = "waypost/v1/soak/cmd/soak") async {
        guard let session = await connected() else { return }
        let message = MQTTMessage(topic: topic, payload: Array(payload.utf8))
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
            reply.status != .accepted
        else { return }
        // BUSY is no end, it asks to try again; after an end it must not come.
        guard reply.code != .busy else {
            if replies[reply.id] != nil { busyAfterEnd.insert(reply.id) }
            return
        }
        var content = reply
        content.isDuplicate = false
        let command = sent[reply.id] ?? ""
        let isAppend =
            command.contains("entry-")
            && (command.contains(#""type":"call""#) || command.contains("services?")
                || reply.result["route"] == "scheme://router/append/:line")
        replies[reply.id, default: []].append(
            Answer(
                content: String(decoding: content.encoded(), as: UTF8.self), isOK: reply.status == .ok,
                isAppend: isAppend))
    }
}
