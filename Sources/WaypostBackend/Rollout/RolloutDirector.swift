import MQTTLink
package import Waypost
package import WaypostFleet
package import WaypostMessages

/// Decides what a roll-out does next: a value without clock and socket.
///
/// All that it knows stands in what the broker keeps, so that another one may go on at any point. Each step is one
/// publish, and the next one follows when the broker has it.
package struct RolloutDirector: Sendable {
    /// What must be done.
    enum Step: Sendable, Hashable {
        /// Publish this, and say so with ``RolloutDirector/done(_:at:)``.
        case publish(MQTTMessage)
        /// Ask these agents where the URLs lead, and say what they answer with ``RolloutDirector/resolved(_:)``.
        case ask(agents: [String])
    }

    /// Who steers.
    struct Holder: Sendable {
        var name: String
        /// Chosen anew by each controller.
        var nonce: String

        init(name: String, nonce: String) { (self.name, self.nonce) = (name, nonce) }
    }

    /// A document as the broker keeps it.
    package struct Document: Sendable, Hashable {
        var payload: [UInt8]
        package var id: RolloutControl.MapID
        package var entries: [RelocationEntry]

        /// Whether agents that have keys take no other.
        var isSigned: Bool { Relocation(document: payload, .map).isSigned }

        /// Why its entries must not be signed again for the group; nil where they may be.
        func refusal(by signer: Signer, in group: String) -> Failure? {
            KeptDocument(map: payload, of: .group(group)).refusal(by: signer)
        }

        /// Nil when it is none.
        package init?(_ payload: [UInt8]) {
            let relocation = Relocation(document: payload, .map)
            guard !payload.isEmpty, let document = relocation.document else { return nil }
            self.payload = payload
            id = RolloutControl.MapID(revision: document.revision, digest: relocation.digest)
            entries = document.entries
        }
    }

    /// What the broker keeps of the group, as far as it was seen.
    struct Kept: Sendable {
        var base: Document?
        var candidate: Document?
        var control: RolloutControl?
        var lease: RolloutLease?
        /// The bytes of the control document.
        var controlPayload: [UInt8] = []
        /// The agents that want a map, while what the broker keeps is being read.
        var wishing: Set<String> = []

        init() {}
    }

    /// The group's topics, which each message is compared with.
    struct GroupTopics: Sendable {
        let map: String
        let candidate: String
        let control: String
        let lease: String
        let audits: String

        init(_ topics: Topics, _ group: String) {
            map = topics.map(of: .group(group))
            candidate = topics.candidate(of: group)
            control = topics.rollout(of: group)
            lease = topics.lease(of: group)
            audits = control + "/log/"
        }
    }

    package let group: String
    package let topics: Topics
    let groupTopics: GroupTopics
    var options: RolloutOptions
    let holder: Holder
    /// What is added to our monotonic clock to have the time of day.
    private let wallOffset: Int64

    var kept = Kept()
    /// The map in force before, and the new one.
    package var base: Document?
    package var next: Document?
    /// The one that is to lie in the place of the group's map now; nil when that is not known, or there is none.
    var groupMap: Document?
    var changed: ChangedURLs?
    /// The control document that we stand for.
    package internal(set) var control: RolloutControl? { didSet { fleet.select(control) } }
    package var fleet: RolloutFleet
    var evidence: RolloutEvidence
    var trail = RolloutTrail()
    /// Entries of the new map of which it was foretold that they have no effect somewhere; nil without a plan.
    var foreseen: Set<Int>?
    /// What is to be done, in this order.
    var pending: [Step] = []
    var state = RolloutState.reading
    /// The highest revision of the documents of those who may give orders: what a member says of itself steers no other.
    var highestRevision: Int64 = 0
    var notices = RolloutNotices()
    var clock: Clock
    /// How many agents each stage chose.
    var chosenByStage: [Int?] = []
    /// The document by which agents went back; what they say under it, or a later one, is an answer to it.
    var returnOrder: RolloutControl.Order?
    /// The number of the last entry of the audit that was read before it began.
    var lastRead: Int64 = 0
    /// Whether another controller wrote after all was read, and before this one wrote anything: it must begin anew, for
    /// what it is about to write does not know of that.
    private(set) var isOvertaken = false
    /// How the stage ended that was over last, until it is taken.
    private var endOfStage: RolloutStatus?
    /// Signs the map before when it comes again; nil where maps are not signed.
    var signer: Signer?

    /// How it ended; nil while it goes on.
    package var outcome: RolloutOutcome? { state.outcome }

    /// The times at which something is due, in milliseconds on our monotonic clock.
    struct Clock: Sendable {
        var last: Int64
        var isConnected = true
        /// Until when there is no verdict.
        var settles: Int64
        var leasePublished: Int64?
        /// Since when our own lease was not seen, and when it was seen first.
        var leaseUnseen: Int64?
        var leaseHeard: Int64?
        /// Whether it is certain enough that no other controller begins.
        var mayWrite = false
        /// When what others changed was put back, by topic.
        var putBack: [String: Int64] = [:]
        /// For how long verdicts have stood still while there was a connection.
        var still: Int64 = 0
        var controlPublished: Int64
        var lastHealing: Int64
        /// Agents that said that they have no map.
        var wishes = RepeatedWishes()

        fileprivate init(at now: Int64) {
            (last, settles, controlPublished, lastHealing) = (now, now, now, now)
        }
    }

    /// - Parameters:
    ///   - salt: That of the roll-out: its id, unless it is repeated on purpose.
    ///   - wallOffset: What is added to the monotonic clock to have the time since 1970.
    init(
        group: String, salt: String, topics: Topics, options: RolloutOptions, holder: Holder,
        wallOffset: Int64, at now: Int64
    ) {
        self.group = group
        self.topics = topics
        groupTopics = GroupTopics(topics, group)
        self.options = options
        self.holder = holder
        self.wallOffset = wallOffset
        fleet = RolloutFleet(group: group, salt: salt, topics: topics)
        evidence = RolloutEvidence(at: now)
        clock = Clock(at: now)
    }

    /// What must be subscribed to.
    static func filters(of group: String, _ topics: Topics) -> [String] {
        RolloutFleet.filters(topics) + [
            topics.map(of: .group(group)), topics.candidate(of: group), topics.rollout(of: group),
            topics.lease(of: group), topics.audits(of: group),
        ]
    }

    func wall(_ now: Int64) -> Int64 { now + wallOffset }

    // MARK: What comes

    /// A message came.
    mutating func saw(_ message: MQTTMessage, at now: Int64) {
        switch message.topic {
        case groupTopics.map: sawMap(message, at: now)
        case groupTopics.candidate: kept.candidate = Document(message.payload)
        case groupTopics.control: sawControl(message, at: now)
        case groupTopics.lease: sawLease(message, at: now)
        case let topic where topic.hasPrefix(groupTopics.audits): sawAudit(message, at: now)
        default: sawAgent(message, at: now)
        }
        assert(isConsistent)
    }

    private mutating func sawMap(_ message: MQTTMessage, at now: Int64) {
        kept.base = Document(message.payload)
        highestRevision = max(highestRevision, kept.base?.id.revision ?? 0)
        guard let control, let found = kept.base?.id,
            ![control.base?.digest, control.next.digest, groupMap?.id.digest].contains(found.digest)
        else { return }
        // An older one is what a broker brought back: it is put right, see `heal`.
        guard found.revision ?? 0 > groupMap?.id.revision ?? control.base?.revision ?? 0 else { return }
        // It was done, and another map followed: what comes now is not of this map.
        if case .tail = state { return state.ends(.done) }
        pause(
            "another map, \(found.revision.map { "rev \($0)" } ?? "without rev"), is in force in @\(group)",
            // What took a promoted map back would take that one's place.
            isWatched: !state.isPromoted, at: now)
    }

    private mutating func sawControl(_ message: MQTTMessage, at now: Int64) {
        guard let found = try? RolloutControl(message.payload) else {
            kept.control = nil
            if isSteering, let control {
                putBack(groupTopics.control, control.encoded(), "the control document", at: now)
            }
            return
        }
        let isNews = kept.control.map { $0.order < found.order } ?? true
        (kept.control, kept.controlPayload) = (found, message.payload)
        guard let control, outcome == nil else { return }
        if !isPlausible(found.epoch) {
            return putBack(groupTopics.control, control.encoded(), "the control document", at: now)
        }
        if !clock.mayWrite, isNews, found.order < control.order { isOvertaken = true }
        if found.order == control.order, message.payload != control.encoded(), !isPending(groupTopics.control)
        {
            return resolveEqualOrder(found, at: now)
        }
        if found.order < control.order, !isPending(groupTopics.control) {
            // One that a replaced controller sent, or that a broker brought back.
            return add(groupTopics.control, control.encoded())
        }
        guard found.order > control.order,
            !pending.contains(where: { Self.isControl($0, groupTopics.control, message.payload) })
        else { return }
        superseded(by: found.author ?? "another controller")
    }

    /// Two controllers came to the same order, each in the belief to be alone: the one whose lease is the larger goes
    /// on above both.
    private mutating func resolveEqualOrder(_ found: RolloutControl, at now: Int64) {
        guard let lease, kept.lease.map({ $0.isSame(as: lease) || lease.wins(over: $0) }) ?? true else {
            return superseded(by: found.author ?? "another controller")
        }
        let author = (found.author ?? "another controller").cut(to: 100)
        notices["order"] = "\(author) published another document under the same order"
        control?.epoch += 1
        change(nil, "conflict", why: control?.why)
    }

    /// Whether an epoch is one that controllers can have come to, one after another.
    private func isPlausible(_ epoch: Int64) -> Bool {
        guard let known = control?.epoch ?? trail.last?.epoch else { return true }
        return epoch - known <= RolloutControl.longestJump
    }

    func isPending(_ topic: String) -> Bool { pending.contains { Self.isOf($0, topic) } }

    /// Whether what others write into this controller's topics is put right.
    private var isSteering: Bool {
        switch state {
        case .reading, .ending, .ended: false
        default: true
        }
    }

    /// Publishes again what another program emptied or overwrote, and says so; not more often than it is healed.
    private mutating func putBack(_ topic: String, _ payload: [UInt8], _ name: String, at now: Int64) {
        guard clock.isConnected, !isPending(topic),
            now - clock.putBack[topic, default: .min / 2] >= Self.pauseOfHealing
        else { return }
        clock.putBack[topic] = now
        notices[name] = "\(name) was emptied or overwritten, and was put back"
        add(topic, payload)
    }

    private mutating func sawAudit(_ message: MQTTMessage, at now: Int64) {
        guard let slot = Int64(message.topic.dropFirst(groupTopics.audits.count)) else { return }
        if !clock.mayWrite, control != nil, let entry = RolloutAudit(bytes: message.payload),
            entry.slot == slot, lastRead + 1...lastRead + RolloutAudit.ring ~= entry.number
        {
            isOvertaken = true
        }
        guard !isPending(message.topic) else { return }
        switch trail.saw(message.payload, in: slot) {
        case .asItShouldBe: break
        case .replaced(let known) where isSteering:
            putBack(message.topic, known, "entry \(slot) of the audit", at: now)
        case .replaced: break
        case .foreign:
            notices["audit"] = "what another program wrote at place \(slot) is no entry of the audit"
        }
    }

    /// Publishes what the broker has not, or not any more, of the audit.
    mutating func restoreAudit() {
        for (slot, payload) in trail.missing {
            let topic = topics.audit(of: group, slot: slot)
            if !isPending(topic) { add(topic, payload) }
        }
    }

    /// What the file of the audit lacks, and why; nil when it has all, or there is none.
    var unkept: String? { notices["file"] }

    /// What the file of the audit does not take; nil when it has all.
    ///
    /// It is no silence: the broker's part of the audit says so, too, once.
    mutating func auditIsUnkept(_ fault: String?, at now: Int64) {
        defer { assert(isConsistent) }
        let isNew = fault != nil && notices["file"] == nil
        notices["file"] = fault
        guard isNew, isSteering else { return }
        advanceClock(to: now)
        let why = control?.why
        change(nil, "unkept", why: fault) { $0.why = why }
    }

    private static func isControl(_ step: Step, _ topic: String, _ payload: [UInt8]) -> Bool {
        if case .publish(let message) = step {
            message.topic == topic && message.payload == payload
        } else {
            false
        }
    }

    private mutating func sawLease(_ message: MQTTMessage, at now: Int64) {
        guard let json = message.json, let found = try? RolloutLease(json) else {
            kept.lease = nil
            // Ours comes again at once.
            if isSteering { clock.leasePublished = nil }
            return
        }
        kept.lease = found
        guard let lease, outcome == nil else { return }
        if found.isSame(as: lease) {
            clock.leaseUnseen = nil
            clock.leaseHeard = clock.leaseHeard ?? now
        } else if found.wins(over: lease), isPlausible(found.epoch) {
            superseded(by: found.holder)
        } else {
            // Ours is the larger one; who has the other sees that.
            clock.leasePublished = nil
        }
    }

    mutating func superseded(by name: String) {
        pending = []
        state.superseded(by: name)
    }

    private mutating func sawAgent(_ message: MQTTMessage, at now: Int64) {
        guard let (name, news) = fleet.saw(message.seen, of: control?.id, at: now) else { return }
        if case .unreadable = news { return notices.unread(name) }
        guard let control, let agent = fleet.agents[name] else { return }
        if let report = agent.report, report.order > control.order {
            // What a member says of itself steers no other.
            notices.claimed(name, report.order)
        }
        switch news {
        case .came: evidence.agentCame(name, at: now, grace: options.grace)
        case .lost where !isStandingStill(at: now): evidence.agentLost(name, agent, at: now)
        case .lost: break
        case .applied(let before):
            evidence.agentApplied(name, agent, before: before, foreseen: foreseen, at: now)
        case .failed(let report) where !isStandingStill(at: now):
            let changed = changed
            evidence.agentFailed(
                name, agent, report, control, touched: { changed?.touches($0) ?? false }, at: now)
        case .failed: break
        case .unreadable: break
        // The broker may keep a newer map than the one that is known.
        case .wants where !clock.isConnected: kept.wishing.insert(name)
        case .wants: if grantWish(of: name, at: now) { heal(isAsked: true, at: now) }
        }
        if fleet.isCrowding(name) { notices.flooded(name) }
    }

    /// Canaries said where URLs lead; those that say nothing are not among them.
    mutating func resolved(_ answers: [CanaryAnswer]) {
        defer { assert(isConsistent) }
        if let control { evidence.canariesAnswered(answers, control.next) }
    }

    // MARK: The connection

    /// The connection was lost.
    mutating func disconnected(at now: Int64) {
        defer { assert(isConsistent) }
        advanceClock(to: now)
        clock.isConnected = false
        kept = Kept()
        trail.connectionLost()
        // What is asked now is not heard.
        resolved([])
    }

    /// There is a connection again, and what the broker keeps was read.
    mutating func reconnected(at now: Int64) {
        defer { assert(isConsistent) }
        advanceClock(to: now)
        clock.isConnected = true
        clock.settles = now + options.settling
        clock.leasePublished = nil
        clock.leaseUnseen = nil
        clock.lastHealing = .min / 2
        guard outcome == nil else { return }
        let isAsked = kept.wishing.sorted().contains { grantWish(of: $0, at: now) }
        heal(isAsked: isAsked, at: now)
        restoreAudit()
    }

    private mutating func grantWish(of agent: String, at now: Int64) -> Bool {
        clock.wishes.time(of: agent, at: now) <= now
    }

    /// How often something is published again, in milliseconds.
    static let pauseOfHealing: Int64 = 5_000

    /// Publishes again what the broker should keep and does not, or what an agent says that it did not get.
    private mutating func heal(isAsked: Bool, at now: Int64) {
        // One publish serves all that ask at the same time.
        guard let control, outcome == nil, now - clock.lastHealing >= Self.pauseOfHealing else { return }
        clock.lastHealing = now
        if let groupMap, isAsked || kept.base?.id.digest != groupMap.id.digest,
            objection(toReplacingWith: groupMap) == nil
        {
            add(groupTopics.map, groupMap.payload)
        }
        if control.state.hasCandidate, let next, kept.candidate?.id.digest != next.id.digest {
            add(groupTopics.candidate, next.payload)
        }
        if isAsked || kept.control.map({ $0.order < control.order }) ?? true {
            add(groupTopics.control, control.encoded())
        }
    }

    /// Why a map may not take the place of the group's map at the broker: a newer one was sent; nil where it may.
    func objection(toReplacingWith map: Document) -> MapObjection? {
        guard let base = kept.base, base.id.digest != map.id.digest else { return nil }
        return RetainedMap.objection(
            to: map.id.revision,
            over: MapPlan.Retained(revision: base.id.revision, digest: base.id.digest),
            of: .group(group))
    }

    /// Publishes the new map again: some brokers keep a message for one of their nodes, and agents at the others, which
    /// subscribe to it when they are chosen, get nothing.
    ///
    /// A map for ten thousand agents is a load: it goes 5, 10, 20, … s after they should have said something.
    mutating func sendCandidateAgain(after time: Int64, at now: Int64) {
        guard let next, now - clock.lastHealing >= max(Self.pauseOfHealing, time / 2) else { return }
        clock.lastHealing = now
        add(groupTopics.candidate, next.payload)
    }

    // MARK: Steps

    /// What must be done next; nil while there is nothing to do.
    ///
    /// First the lease alone: whoever begins at the same time is seen before anything else is written.
    func nextStep() -> Step? {
        guard clock.isConnected, let step = pending.first else { return nil }
        return clock.mayWrite || Self.isOf(step, groupTopics.lease) ? step : nil
    }

    /// A step was done: the broker has what was published.
    mutating func done(_ step: Step, at now: Int64) {
        if pending.first == step { pending.removeFirst() }
        guard case .publish(let message) = step, message.topic == groupTopics.control,
            let published = try? RolloutControl(message.payload)
        else { return }
        clock.controlPublished = now
        began(published, at: now)
        // Its numbers, for those who watch.
        if outcome == nil, published.order == control?.order { renewLease(at: now) }
        assert(isConsistent)
    }

    /// How a stage ended, once.
    mutating func takeEndOfStage() -> RolloutStatus? {
        defer { assert(isConsistent) }
        defer { endOfStage = nil }
        return endOfStage
    }

    /// What others see, and who steers, is how the stage ended.
    mutating func stageEnds(at now: Int64) {
        endOfStage = status(at: now)
        renewLease(at: now)
    }

    mutating func add(_ topic: String, _ payload: [UInt8]) {
        pending.append(.publish(.json(topic, payload, retain: true)))
    }

    var lease: RolloutLease? {
        control.map {
            RolloutLease(
                holder: holder.name, epoch: $0.epoch, nonce: holder.nonce,
                timeToLive: options.lease.timeToLive)
        }
    }

    /// Whether there is a connection over which it hears itself.
    var isConnected: Bool { clock.isConnected }

    /// Gives the lease up; nil when it has none, or another one has it.
    var release: MQTTMessage? {
        if control == nil { return nil }
        if case .superseded = outcome { return nil }
        return MQTTMessage(topic: groupTopics.lease, payload: [], retain: true)
    }

    // MARK: Time

    /// Whether verdicts and times stand still: the network changes, and not the map.
    func isStandingStill(at now: Int64) -> Bool { standstill(at: now) != nil }

    func standstill(at now: Int64) -> String? {
        if !clock.isConnected { return "the controller has no connection" }
        if now < clock.settles { return "the connection is a new one" }
        let counts = fleet.counts
        guard counts.controlGroup >= 5, counts.controlOffline * 5 > counts.controlGroup else { return nil }
        return "\(counts.controlOffline) of \(counts.controlGroup) agents that were not chosen are offline"
    }

    /// Whether no controller can have come to this epoch by ones.
    func isOutOfReach(_ epoch: Int64) -> Bool {
        epoch >= RolloutControl.highest || epoch - (trail.last?.epoch ?? 0) > RolloutControl.longestJump
    }

    /// The epoch of who takes over now, by the documents of those who may give orders.
    func nextEpoch() throws(BackendError) -> Int64 {
        let found = [kept.control?.epoch, kept.lease?.epoch, trail.last?.epoch].compactMap(\.self)
        if let highest = found.filter({ !isOutOfReach($0) }).max() { return highest + 1 }
        guard found.isEmpty || trail.last == nil || trail.last?.epoch ?? 0 < RolloutControl.highest else {
            throw BackendError(
                .notSent,
                "the epochs of @\(group) are used up; \(library: "RolloutOptions.resetsOrder", shell: "waypost rollout start --reset-order") begins anew"
            )
        }
        return 1
    }

    /// Moves the clock, and counts how long agents were looked at.
    mutating func advanceClock(to now: Int64) {
        let time = max(0, now - clock.last)
        defer { clock.last = now }
        let isStandingStill = isStandingStill(at: now)
        if !isStandingStill {
            clock.still = 0
        } else if clock.isConnected {
            clock.still += time
        }
        guard time > 0, let control else { return }
        if isStandingStill {
            evidence.standstill += time
        } else if control.state.hasCandidate {
            evidence.passed(time, fleet.counts)
        }
    }

    /// Whether what is published goes with what is decided.
    var isConsistent: Bool {
        switch state {
        case .reading: pending.isEmpty
        case .ended(.superseded): pending.isEmpty
        case .ending, .ended: true
        default: control?.state == state.word
        }
    }
}
