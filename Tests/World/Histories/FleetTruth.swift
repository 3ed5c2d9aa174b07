import MQTTLink
import Threading
import Waypost
import WaypostBackend
import WaypostFleet
import WaypostMessages

/// What a fleet was sent and what it said, from all that goes through its broker, and what must be true of that.
struct FleetTruth {
    /// A law that was broken.
    struct Breach: Error, CustomStringConvertible {
        let law: Int
        let text: String

        var description: String { "law \(law): \(text)" }
    }

    /// A map of the group's, as people meant it.
    struct Map: Hashable {
        let revision: Int64
        /// What an open of its page returns; one that fails has none.
        let marker: String?
    }

    /// What an agent said last.
    struct Seen {
        fileprivate(set) var revision: Int64 = 0
        fileprivate(set) var digest = ""
        /// All documents that it had in force.
        fileprivate(set) var had: Set<String> = []
        /// The roll-outs in which its own guard took it back.
        fileprivate var guarded: Set<String> = []
        fileprivate(set) var isOnline = false
        /// When it came, or said last what it has in force, in nanoseconds.
        fileprivate var since: UInt64 = 0
        fileprivate var epoch: Int64 = 0
        fileprivate var healthEpoch: Int64 = 0
        fileprivate var boot = ""
        fileprivate(set) var report: RolloutReport?
        /// The documents of its groups that were published, by their digests, and the last of them.
        fileprivate var documents: [String: GroupsDocument] = [:]
        fileprivate var lastDocument: Int64 = 0
        /// The one that it said it has in force.
        fileprivate var groups: (revision: Int64, digest: String) = (0, "")
    }

    static let topics = Topics.standard
    static let group = "fleet"
    private(set) var agents: [String: Seen] = [:]
    /// The maps that were published for the group, by the digests of their documents.
    private var maps: [String: Map] = [:]
    /// Those that were published as candidates, and as maps.
    private var candidates: Set<String> = []
    private(set) var published: Set<String> = []
    /// The newest that was published as the group's.
    private(set) var newest: (revision: Int64, digest: String) = (0, "")
    private(set) var newestDocument: [UInt8] = []
    /// When it came, in nanoseconds.
    private var newestCame: UInt64 = 0
    /// The map that came last, by its digest: mostly the newest.
    private var lastMap = ""
    /// Whether the broker has the group's map whatever happens to it.
    private let keepsMaps: Bool
    /// What somebody published who may not, by its digest.
    private var forged: Set<String> = []
    /// The agents that people left out of a roll-out, by its id.
    private var excluded: [String: String] = [:]
    private var controls: [RolloutControl.Order: [RolloutControl]] = [:]
    private(set) var control: RolloutControl?
    /// The markers of maps that fail where they are opened.
    private var bad: Set<String> = []
    /// What a console that sees all of it shows.
    private var console = (inbox: FleetInbox(topics: topics), state: FleetState(began: 0))
    /// The last delivery that was taken: what was before it may come again.
    private var lastTaken: UInt64 = 0
    private(set) var met: [String: Int] = [:]
    /// Opens without an answer, and which revision was in force there when they were sent.
    private var asked: [String: (agent: String, since: Int64)] = [:]

    /// The revision below which an agent does not go any more; from a candidate it goes back to the map before.
    private func floor(of name: String) -> Int64 {
        guard let seen = agents[name] else { return 0 }
        // Whether that has become the map of all meanwhile, it need not know.
        return seen.report?.reason == .chosen && candidates.contains(seen.digest) ? 0 : seen.revision
    }

    /// Whether a map that nobody has opened a page of goes no further.
    private let needsTraffic: Bool

    /// Whether one of the group says what is not so, and nothing else speaks against a good map.
    private let hasLiar: Bool
    /// Whether agents take nothing without a signature.
    private let isSigned: Bool

    init(agents names: [String], needsTraffic: Bool, keepsMaps: Bool, hasLiar: Bool, isSigned: Bool) {
        (self.needsTraffic, self.keepsMaps) = (needsTraffic, keepsMaps)
        (self.hasLiar, self.isSigned) = (hasLiar, isSigned)
        for name in names { agents[name] = Seen() }
    }

    // MARK: What people do

    mutating func asks(_ id: String, _ agent: String) { asked[id] = (agent, floor(of: agent)) }

    mutating func forges(_ payload: [UInt8]) { forged.insert(SHA256.label(SHA256.digest(of: payload))) }

    mutating func excludes(_ agent: String, from rollout: String) { excluded[rollout] = agent }

    /// Something goes wrong now.
    mutating func meets(_ part: HistoryPart) {
        let state =
            control.map { !$0.state.isOver } ?? false
            ? "rolling" : !waiting.isEmpty ? "mapping" : !outside.isEmpty ? "grouping" : "idle"
        met["\(part) × \(state)", default: 0] += 1
    }

    /// The agents that do not have the newest map.
    var waiting: [String] { agents.filter { $0.value.digest != newest.digest }.map(\.key).sorted() }
    var offline: [String] { agents.filter { !$0.value.isOnline }.map(\.key).sorted() }
    /// Those that do not have the last document of their groups, or a newer one.
    var outside: [String] {
        guard keepsMaps else { return [] }
        return agents.filter { $0.value.groups.revision < $0.value.lastDocument }.map(\.key).sorted()
    }
    var isAtRest: Bool { waiting.isEmpty && offline.isEmpty && outside.isEmpty }

    // MARK: What is said

    /// What goes through the broker.
    mutating func heard(_ delivery: BrokerModel.Delivery) throws {
        if delivery.id > 0 {
            guard delivery.id > lastTaken else { return }
            lastTaken = delivery.id
        }
        let message = delivery.message
        guard !message.payload.isEmpty else { return }
        guard forged.isEmpty || !forged.contains(SHA256.label(SHA256.digest(of: message.payload))) else {
            return
        }
        let topic = message.topic
        switch topic {
        case Self.topics.map(of: .group(Self.group)): try heardMap(message)
        case Self.topics.candidate(of: Self.group):
            candidates.insert(try note(message.payload))
        case Self.topics.rollout(of: Self.group): try heardControl(message)
        default:
            if topic.contains("/reply/me") { return try heardReply(message.payload) }
            if let name = agents.keys.first(where: { topic == Self.topics.groups(of: $0) }) {
                return try heardGroups(of: name, message.payload)
            }
            guard let (agent, content) = Self.topics.outbound(topic), agents[agent] != nil else { return }
            try heard(content, of: agent, message)
        }
    }

    private mutating func heardMap(_ message: BrokerModel.Message) throws(Breach) {
        let digest = try note(message.payload)
        published.insert(digest)
        guard let revision = maps[digest]?.revision else { return }
        // Who has looked before a newer one came may publish his own a moment later.
        let isLate = MonotonicTime.now - newestCame > 10_000_000_000
        // And after a restart of the broker it comes again.
        let isAgain = digest == lastMap
        lastMap = digest
        guard revision >= newest.revision || !isLate || isAgain || !keepsMaps else {
            throw Breach(law: 5, text: "rev \(revision) takes the place of rev \(newest.revision)")
        }
        guard revision > newest.revision else { return }
        (newest, newestDocument, newestCame) = ((revision, digest), message.payload, MonotonicTime.now)
    }

    /// A map that people published; its digest.
    private mutating func note(_ payload: [UInt8]) throws(Breach) -> String {
        let digest = SHA256.label(SHA256.digest(of: payload))
        guard maps[digest] == nil, let outer = try? JSONValue(parsing: payload),
            let json = Self.content(outer), let revision = json["rev"]?.intValue
        else { return digest }
        // Without an entry the page is its own.
        let target = json["entries"]?.arrayValue?.first?["targetPath"]?.stringValue ?? "shop://at/fleet-0"
        let marker = target.contains("://at/") ? target.split(separator: "/").last.map(String.init) : nil
        if marker == nil { bad.insert(digest) }
        guard marker != FleetForger.word, !isSigned || SignedEnvelope.isOne(outer) else {
            throw Breach(law: 10, text: "people publish a map that is not signed, or made from a forged one")
        }
        maps[digest] = Map(revision: revision, marker: marker)
        return digest
    }

    /// Out of its envelope when it is signed.
    private static func content(_ json: JSONValue) -> JSONValue? {
        guard SignedEnvelope.isOne(json) else { return json }
        return (try? SignedEnvelope(json) as SignedEnvelope).flatMap { try? JSONValue(parsing: $0.payload) }
    }

    // MARK: Groups

    private mutating func heardGroups(of name: String, _ payload: [UInt8]) throws {
        let document = try GroupsDocument(payload, for: name, limits: .trustedFile)
        guard !document.added.contains(FleetForger.word) else {
            throw Breach(law: 10, text: "people build on groups of \(name) that no trusted key signed")
        }
        agents[name]?.documents[SHA256.label(SHA256.digest(of: payload))] = document
        agents[name]?.lastDocument = document.revision
    }

    /// Law 5: an agent is in the groups of a document that was published, and goes back to no older one.
    private mutating func heard(groups health: Health, of name: String) throws(Breach) {
        guard let said = health.saidGroups, let revision = said.revision, let seen = agents[name] else {
            guard agents[name]?.groups.revision == 0 else {
                throw Breach(law: 5, text: "\(name) knows of no document of its groups any more")
            }
            return
        }
        let digest = said.digest ?? ""
        guard revision > seen.groups.revision || (revision, digest) == seen.groups else {
            throw Breach(
                law: 5, text: "\(name) has the groups rev \(revision) in force, and had \(seen.groups)")
        }
        guard let document = seen.documents[digest], document.revision == revision,
            health.groups == document.groups(over: [Self.group])
        else {
            throw Breach(law: 5, text: "\(name) is in \(health.groups), which no document says")
        }
        agents[name]?.groups = (revision, digest)
    }

    // MARK: Roll-outs

    private mutating func heardControl(_ message: BrokerModel.Message) throws(Breach) {
        guard let found = try? RolloutControl(message.payload) else { return }
        if controls[found.order]?.contains(found) != true { controls[found.order, default: []].append(found) }
        guard control.map({ $0.order < found.order }) ?? true else { return }
        let before = control
        control = found
        let digest = found.next.digest
        if found.state == .done, bad.contains(digest), needsTraffic {
            throw Breach(law: 16, text: "roll-out \(found.id) is done, and each open of its page fails")
        }
        try checkEnd(found)
        try checkReturn(found)
        let isPassed = found.why?.contains("passed") ?? false
        guard isPassed, before?.id == found.id, !found.state.isOver else { return }
        // Of a stage that is a liar alone nobody can know that.
        guard
            agents.values.contains(where: { $0.had.contains(digest) })
                || before?.chooses(FleetLiar.name) == true
        else {
            throw Breach(law: 18, text: "\(found.why ?? ""), and no agent had the map of \(found.id)")
        }
    }

    /// Law 16: it is over when the agents that are online have said so.
    private func checkEnd(_ found: RolloutControl) throws(Breach) {
        let next = found.next.digest
        guard found.state.isOver, keepsMaps, newest.revision <= found.next.revision ?? 0 else { return }
        for (name, seen) in agents.sorted(by: { $0.key < $1.key }) {
            // Who came, or changed, in this moment is perhaps not known to who steers.
            guard seen.isOnline, MonotonicTime.now - seen.since > 10_000_000_000 else { continue }
            guard found.state != .takenBack || published.contains(next) || seen.digest != next else {
                throw Breach(law: 16, text: "\(found.id) is taken back, and \(name) has its map in force")
            }
            guard found.state != .done || seen.digest == next else {
                throw Breach(law: 16, text: "\(found.id) is done, and \(name) does not have its map in force")
            }
        }
    }

    /// Law 17: people take a good map back, or a broker that has lost it, and not what one says.
    private func checkReturn(_ found: RolloutControl) throws(Breach) {
        guard hasLiar, found.state == .takingBack, let why = found.why,
            maps[found.next.digest]?.marker != nil
        else { return }
        // Machines of others end here too, and are red for a while after their clock was set.
        guard ["people", "the end", "the broker", "lost: ", "health: "].contains(where: why.hasPrefix) else {
            throw Breach(law: 17, text: "\(found.id) has a good map, and is taken back: \(why)")
        }
    }

    /// Laws 15, 19 and 20: what an agent says of a roll-out.
    private mutating func check(_ report: RolloutReport, _ name: String, _ seen: Seen, _ digest: String)
        throws(Breach)
    {
        if let known = seen.report, report.order < known.order {
            throw Breach(
                law: 19, text: "\(name) follows the order \(report.order), and followed \(known.order)")
        }
        if report.reason == .guarded { agents[name]?.guarded.insert(report.id) }
        // What was promoted is the map of all.
        guard candidates.contains(digest), !published.contains(digest) else { return }
        guard excluded[report.id] != name else {
            throw Breach(law: 15, text: "\(name) has the candidate of \(report.id), which leaves it out")
        }
        guard !seen.guarded.contains(report.id) else {
            throw Breach(
                law: 20, text: "\(name) has the candidate of \(report.id) again, and went back from it")
        }
        let allowing = (controls[report.order] ?? []).filter {
            $0.next.digest == digest && $0.state.hasCandidate && $0.chooses(name)
        }
        guard !allowing.isEmpty else {
            throw Breach(
                law: 15,
                text: "\(name) has a candidate in force under \(report.order), which does not choose it")
        }
    }

    // MARK: Agents

    private mutating func heard(
        _ content: OutboundTopic, of name: String, _ message: BrokerModel.Message
    ) throws {
        let shown = MQTTMessage(
            topic: message.topic, payload: message.payload, qos: .atLeastOnce, retain: message.retain)
        for news in console.inbox.read(shown, now: WallClock.now()) {
            console.state.take(news, now: WallClock.now())
        }
        switch content {
        case .state:
            guard let json = shown.json else { return }
            try heard(state: json, of: name)
        case .health:
            guard let health = console.inbox.roster.members[name]?.health else { return }
            agents[name]?.healthEpoch = health.epoch ?? 0
            try heard(groups: health, of: name)
        case .applied:
            guard let json = shown.json else { return }
            try heard(applied: AppliedMap(json), of: name)
        default: return
        }
        try checkRoster(name)
    }

    /// Law 5.
    private mutating func heard(applied: AppliedMap, of name: String) throws(Breach) {
        guard let before = agents[name] else { return }
        let layer = applied.layers.first { $0.name == "@\(Self.group)" }
        let (revision, digest) = (layer?.revision ?? 0, layer?.digest ?? "")
        if let layer, maps[layer.digest] == nil {
            throw Breach(law: 5, text: "\(name) has a map in force that nobody sent: \(layer)")
        }
        if let report = applied.rollouts.first { try check(report, name, before, digest) }
        guard revision >= floor(of: name) else {
            throw Breach(law: 5, text: "\(name) has rev \(revision) in force, and had \(before.revision)")
        }
        agents[name]?.revision = revision
        agents[name]?.digest = digest
        agents[name]?.since = MonotonicTime.now
        agents[name]?.report = applied.rollouts.first
        if !digest.isEmpty { agents[name]?.had.insert(digest) }
    }

    /// Law 6.
    private mutating func heard(state: JSONValue, of name: String) throws(Breach) {
        guard let before = agents[name], let epoch = state["epoch"]?.intValue,
            let boot = state["boot"]?.stringValue
        else { return }
        let isOnline = state["state"]?.stringValue == "online"
        if boot != before.boot {
            // A late will of an earlier start is below the births of this one.
            if epoch <= before.epoch, !isOnline { return }
            guard epoch > before.epoch else {
                throw Breach(law: 6, text: "\(name) starts with the epoch \(epoch) after \(before.epoch)")
            }
        }
        guard epoch >= before.epoch else { return }
        agents[name]?.boot = boot
        agents[name]?.epoch = epoch
        agents[name]?.isOnline = isOnline
        agents[name]?.since = MonotonicTime.now
    }

    /// What a list of agents shows is what was true last.
    private func checkRoster(_ name: String) throws(Breach) {
        guard let seen = agents[name], let shown = console.inbox.roster.members[name]?.isOnline,
            seen.epoch > 0
        else {
            return
        }
        let isOnline = seen.isOnline || seen.healthEpoch > seen.epoch
        guard shown == isOnline else {
            throw Breach(
                law: 6, text: "the roster shows \(name) \(shown ? "on" : "off")line, which it is not")
        }
        guard let row = console.state.rows[name]?.summary, row.isOnline == isOnline,
            Self.revision(shownIn: row.map) == seen.revision
        else {
            let row = console.state.rows[name]?.summary
            throw Breach(
                law: 6,
                text: "the console shows \(name) as \(row?.state ?? "nothing") with \(row?.map ?? "no map"), "
                    + "and it has rev \(seen.revision)")
        }
    }

    /// Of the group's map, in what a list shows of all.
    static func revision(shownIn maps: String) -> Int64 {
        let words = maps.split { $0 == " " || $0 == "," }
        guard let index = words.firstIndex(of: "@\(group)"), index + 2 < words.count else { return 0 }
        return Int64(words[index + 2]) ?? 0
    }

    private mutating func heardReply(_ payload: [UInt8]) throws {
        let json = try JSONValue(parsing: payload)
        guard let id = json["id"]?.stringValue, json["status"]?.stringValue == "ok",
            let asked = asked.removeValue(forKey: id),
            let marker = json["result"]?["value"]?.stringValue
        else { return }
        try check(marker, of: asked.agent, since: asked.since)
    }

    /// What its own program saw at an agent that has no network.
    ///
    /// - Parameters:
    ///   - candidate: the page of the one that it had in force; nil for none.
    ///   - goesBack: whether it has heard nothing for too long.
    func sees(
        _ marker: String?, at name: String, after candidate: String?, goesBack: Bool
    ) throws(Breach) {
        if let marker { try check(marker, of: name, since: floor(of: name)) }
        guard let candidate, (marker == candidate) == goesBack else { return }
        throw Breach(
            law: 20,
            text: "\(name) shows \(marker ?? "nothing") \(goesBack ? "long " : "")after it had \(candidate)")
    }

    /// The candidate that an agent has in force, where no newer order and no newer map than that can have come to it.
    func tried(by name: String) -> Map? {
        guard let seen = agents[name], let control, keepsMaps, control.order == seen.report?.order,
            control.state.hasCandidate, candidates.contains(seen.digest), !published.contains(seen.digest),
            newest.digest == control.base?.digest ?? ""
        else { return nil }
        return maps[seen.digest]
    }

    /// Law 5: a page is that of a map that is not older than the one before.
    private func check(_ marker: String, of name: String, since: Int64) throws(Breach) {
        let revisions = maps.values.filter { $0.marker == marker }.map(\.revision)
        // Without a map the page is its own.
        guard let newest = revisions.max() ?? (marker == "fleet-0" ? 0 : nil) else {
            throw Breach(law: 5, text: "\(name) shows \(marker), which no map says")
        }
        guard newest >= since else {
            throw Breach(law: 5, text: "\(name) shows \(marker) of rev \(newest) after it had rev \(since)")
        }
    }
}
