import Logging
import MQTTLink
import Threading
import Waypost
import WaypostAgent

/// One agent, its broker and who sends it commands and maps, over a network that fails now and then: from a start to a stop,
/// or to wherever its machine comes to its end.
final class AgentHistory: Sendable {
    /// What the agent did not do at all.
    enum Breach: Error, CustomStringConvertible {
        case notStarted(String)
        case notOnline
        case noResult([String])
        case noMap([String])
        case noReport([String])
        case doesNotStop
        case notRetained([String])
        case leftOver([String])
        case noGroups(String)
        case unreached([String])
        case subscribed([String])
        case unanswered(String, Int)
        case notTaken(String)
        case untold(Int)

        var description: String {
            switch self {
            case .notStarted(let reason): "law 14: the agent does not start: \(reason)"
            case .notOnline: "law 8: it does not come online"
            case .noResult(let ids): "laws 1 and 3: no result came to \(ids)"
            case .noMap(let layers): "law 5: the newest map of \(layers) is not in force"
            case .noReport(let ids): "law 4: the reports \(ids), which were on disk, do not come"
            case .doesNotStop: "law 8: the agent does not stop"
            case .notRetained(let topics): "rest: the broker has nothing at \(topics)"
            case .leftOver(let what): "rest: the agent keeps for nobody: \(what)"
            case .noGroups(let text): "law 5: the newest document of groups is not in force: \(text)"
            case .unreached(let groups): "rest: no command of \(groups) reaches the agent, which is in them"
            case .subscribed(let filters): "rest: the broker has other filters of the agent: \(filters)"
            case .notTaken(let text): "law 8: a good certificate is not taken: \(text)"
            case .untold(let number): "law 8: its health does not say what became of certificate \(number)"
            case .unanswered(let id, let times): "law 3: \(id) of its machine was answered \(times) times"
            }
        }
    }

    let scheduler: SeededScheduler
    private let disk: WorldDisk
    /// Nil without one.
    let certificates: WorldCertificates?
    let certificateDeeds: Guarded<CertificateDeeds>
    let life: Life
    let broker: MemoryBroker
    /// Nil where nothing is signed.
    private let signer: Signer?
    let people: Guarded<People>
    /// The start before this one: until this one says that it is there, its program opens pages without any map.
    let lastBoot: String
    /// A law that a handler saw broken.
    private let breach = Guarded<People.Breach?>(nil)
    private let link = Guarded<MemoryLink?>(nil)
    /// With which reason code the broker refuses what the agent publishes.
    private let refusal = Guarded(0 as UInt8)
    /// With which certificate the agent's own link tried to connect last.
    let signedIn = Guarded<String?>(nil)
    /// What was put beside the certificate in part, and the whole of it.
    let half = Guarded<(path: String, text: String)?>(nil)
    /// What still goes wrong with certificates.
    enum CertificateRest {
        /// Anything.
        case none
        /// Their next try finds no broker.
        case withoutBroker
        /// Nothing.
        case healed
    }

    let rest = Guarded(CertificateRest.none)
    let program = Guarded<(app: WorldApp, router: Router)?>(nil)
    /// How often what the machine's own programs asked was answered.
    let answers = Guarded<[(id: String, times: Int)]>([])

    init(
        _ scheduler: SeededScheduler, _ disk: WorldDisk, _ life: Life, _ certificateDeeds: CertificateDeeds
    ) {
        (self.scheduler, self.disk, self.life) = (scheduler, disk, life)
        certificates = life.certificates.map { WorldCertificates(scheduler, $0) }
        self.certificateDeeds = Guarded(certificateDeeds)
        people = Guarded(life.people)
        lastBoot = life.people.boot
        broker = MemoryBroker(life.broker, life.traits.broker)
        signer = life.traits.isSigned ? Signer("release", 7) : nil
    }

    /// What outlives it, for who comes after the end.
    var left: (people: People, broker: BrokerModel.Kept) { (people.withLock { $0 }, broker.kept) }

    /// - Parameter isLast: whether all must come to rest.
    func run(_ deeds: Deeds, count: Int, isLast: Bool) throws {
        var deeds = deeds
        broker.start()
        let sender = WorldClient(
            "me", at: broker,
            ["reply/me", "state", "map/applied", "health", "fail"].map { "waypost/v1/k1/\($0)" })
        let agent = try start()
        let ended = Monitor(false)
        Task(executorPreference: AgentThreads.pool) { [scheduler] in
            do { try await agent.run() } catch { scheduler.note("\(error)") }
            ended.withLock { ($0 = true, wakes: true) }
        }
        for deed in deeds.atStart() { try perform(deed, agent, sender) }
        // What is sent before its session is there, no broker keeps for it.
        try take(from: sender, for: .seconds(60)) { $0.isOnline }
        guard people.withLock(\.isOnline) else { throw Breach.notOnline }
        sendAgain(to: sender)
        for _ in 0..<count {
            for deed in people.withLock({ [clock = scheduler.clock] in deeds.next(&$0, at: clock) }) {
                try perform(deed, agent, sender)
            }
            try performCertificates(sender)
        }
        heal()
        if isLast {
            try renewCertificate(sender)
            try comeToRest(agent, sender)
            try reachGroups(&deeds, sender)
        } else {
            try take(from: sender, for: .milliseconds(drawn(0...3_000))) { _ in false }
        }
        agent.stop(because: "the end of the history")
        let limit = MonotonicTime.after(.seconds(60))
        let hasEnded = ended.wait { ended, isTimeUp -> Monitor<Bool>.Step<Bool> in
            ended || isTimeUp ? .end(ended) : .wait(until: limit)
        }
        guard hasEnded else { throw Breach.doesNotStop }
        for answer in answers.withLock(\.self) where answer.times != 1 {
            throw Breach.unanswered(answer.id, answer.times)
        }
        if let breach = breach.withLock({ $0 }) { throw breach }
        if isLast { try scheduler.checkEnd() }
    }

    private func drawn(_ range: ClosedRange<Int64>) -> Int64 {
        var chance = Chance()
        return Int64.random(in: range, using: &chance)
    }

    // MARK: The agent

    private func start() throws -> Agent {
        do {
            let url = try BrokerURL("mqtt://127.0.0.1:1883") as BrokerURL
            var configuration = AgentConfiguration(
                agent: "k1", stateDirectory: "state",
                link: MQTTLinkConfiguration(brokers: [url], clientID: "k1"))
            configuration.groups = SentGroups.own
            configuration.keepsOwnGroups = life.traits.keepsOwnGroups
            configuration.durability = life.traits.isDurable ? .full : .off
            configuration.limits.handlerDeadline = .seconds(20)
            if let signer {
                try configuration.trust.pin("release", key: signer.publicKey)
                configuration.trust.coversCommands = true
            }
            if let paths = certificates?.paths {
                configuration.link.tls = TLSOptions(certificateFile: paths.certificate, keyFile: paths.key)
                if life.traits.makesCertificates {
                    configuration.renewCertificate = { [self] _ in try await makeCertificate() }
                }
                certificates?.onMove { [self] in moved(isKey: $0) }
            }
            let router = Router()
            let app = WorldApp(observers)
            try app.register(on: router)
            program.withLock { $0 = (app, router) }
            return try Agent(
                configuration, router: router,
                logger: Logger(label: "world") { _ in SwiftLogNoOpLogHandler() },
                clock: .system,
                makeLink: { [self] configuration, delegate in
                    let link = MemoryLink(
                        configuration, delegate, broker, noted: { [scheduler] in scheduler.note($0, $1) },
                        refuses: { [self] in refuses(configuration) })
                    guard configuration.clientID == "k1" else { return link }
                    checkInUse()
                    self.link.withLock { $0 = link }
                    return link
                }, certificateDisk: certificates ?? FileDisk())
        } catch {
            throw Breach.notStarted("\(error)")
        }
    }

    private var observers: WorldApp.Observers {
        WorldApp.Observers(
            ran: { [self] in ran($0) },
            begins: { [self] number in
                sees { people throws(People.Breach) in try people.begins(number, at: scheduler.clock) }
            }, ends: { [self] in ends($0) },
            enters: { [self] name, entry in
                sees { people throws(People.Breach) in
                    try people.layers[name == "agent" ? 0 : 1].enters(entry)
                }
            })
    }

    private func ran(_ number: Int) {
        scheduler.note("runs \(number)")
        sees { people throws(People.Breach) in try people.runs(number, at: scheduler.clock) }
    }

    /// Something of the agent's program sees what is so.
    func sees(_ look: (inout People) throws(People.Breach) -> Void) {
        do {
            try people.withLock { people throws(People.Breach) in try look(&people) }
        } catch {
            breach.withLock { $0 = $0 ?? error }
        }
    }

    /// What may be repeated ends the machine each time, as long as it starts again.
    private func ends(_ number: Int) {
        scheduler.note("ends with \(number)")
        sees { people throws(People.Breach) in try people.ends(number) }
        if life.mayEnd { scheduler.crash() }
    }

    // MARK: People

    func publish(
        _ payload: String, on topic: String, as id: String, _ sender: WorldClient, retain: Bool = false
    ) {
        people.withLock { $0.isSent(id, copies: life.traits.deliversTwice ? 2 : 1) }
        sender.publish(payload, on: "waypost/v1/\(topic)", as: id, retain: retain)
    }

    /// What the broker does not have, or the agent has not accepted.
    func sendAgain(to sender: WorldClient) {
        for (id, payload) in people.withLock(\.unsent) { publish(payload, on: "k1/cmd/me", as: id, sender) }
    }

    /// The newest map where it is not in force, and is perhaps not at the broker any more.
    func sendMapsAgain(to sender: WorldClient) {
        for maps in people.withLock(\.waiting) {
            guard let document = maps.documents[maps.newest] else { continue }
            publish(document, on: "\(maps.audience)/map", as: "", sender, retain: true)
        }
        guard let document = people.withLock(\.groups.waiting) else { return }
        publish(document, on: "k1/groups", as: "", sender, retain: true)
    }

    private func perform(_ deed: Deeds.Deed, _ agent: Agent, _ sender: WorldClient) throws {
        switch deed {
        case .command(let id, let payload, let times):
            scheduler.note("sent \(times) times \(payload)")
            for _ in 0..<times { publish(payload, on: "k1/cmd/me", as: id, sender) }
        case .letter(let topic, let payload, let retain):
            scheduler.note("sent \(topic) \(payload)")
            publish(payload, on: topic, as: "", sender, retain: retain)
        case .locally(let id, let payload): ask(agent, id, payload)
        case .asksItself(let probe, let layer, let number):
            program.withLock(\.self).map { ask($0.router, probe, layer, number) }
        case .rings: program.withLock(\.self)?.app.ring()
        case .pause(let time): try take(from: sender, for: .milliseconds(time)) { _ in false }
        case .heals: heal()
        case .fault(let part, let size):
            meet(part, size)
        }
    }

    /// Something goes wrong; what its size means follows from it.
    func meet(_ part: HistoryPart, _ size: Int64) {
        people.withLock { $0.meets(part) }
        scheduler.note("\(part) \(size)")
        switch part {
        case .cut: link.withLock { $0 }?.post { $0.commands.append(.cut) }
        case .broker: broker.restart(isKilled: size > 0)
        case .sync: failSyncs(true)
        case .full: disk.limit(Int(size))
        case .clock: setClock(off: size)
        case .refusal: refuse(with: UInt8(size))
        case .power, .maps, .forged, .rollouts, .backend, .scheduled, .groups, .locally, .certificates, .lies:
            break
        }
    }

    private func failSyncs(_ fails: Bool) {
        disk.failSyncs(fails)
        certificates?.failSyncs(fails)
    }

    private func performCertificates(_ sender: WorldClient) throws {
        // Another program that writes before the agent starts may take away what an end within a swap left.
        guard certificates != nil, link.withLock({ $0 != nil }) else { return }
        completeCertificate()
        guard let (kind, pause) = certificateDeeds.withLock({ $0.next() }) else { return }
        put(kind)
        try take(from: sender, for: .milliseconds(Int64(pause))) { _ in false }
    }

    func setClock(off error: Int64) {
        people.withLock { [clock = scheduler.clock] in $0.clockIsSet(at: clock, to: error) }
        scheduler.setClock(off: error)
    }

    private func heal() {
        failSyncs(false)
        disk.limit(nil)
        guard refusal.withLock({ $0 > 0 }) else { return }
        refuse(with: 0)
        // What was refused for good is sent again over the next connection.
        meet(.cut, 0)
    }

    private func refuse(with reason: UInt8) {
        refusal.withLock { $0 = reason }
        broker.refuse("k1", with: reason)
    }

    func take(
        from sender: WorldClient, for time: Duration, unless isEnough: (People) -> Bool
    ) throws {
        try sender.take(
            until: MonotonicTime.after(time), unless: { people.withLock { isEnough($0) } }
        ) { event in
            switch event {
            case .message(let delivery): try people.withLock { try $0.heard(delivery, at: scheduler.clock) }
            case .published(let id): people.withLock { $0.brokerHas(id) }
            case .connected(let isNew):
                if isNew { people.withLock { $0.brokerForgot() } }
                sendAgain(to: sender)
            }
        }
    }
}
