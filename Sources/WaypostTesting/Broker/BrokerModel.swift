import CTopicMatch

/// An MQTT broker as a value: what clients do goes in, what it does at that comes out.
///
/// It has no clock and no socket: whoever holds it says what time it is, carries what it sends, and decides when.
/// What it does beyond the standard, or leaves out, are its ``Traits``: mosquitto's, unless told otherwise, which
/// `BrokerModelTests` hold it against.
struct BrokerModel {
    typealias Client = String

    /// What brokers do differently, by will or by fault.
    struct Traits {
        /// Whether sessions and retained messages are there again after a restart.
        var persists = true
        /// Whether a session whose connection began it anew is there as well.
        var persistsNewSessions = false
        /// Whether wills are published when it is stopped as it should be.
        var publishesWillsAtStop = true
        /// Whether who subscribes again only gets another level; the standard has all options replaced.
        var keepsFirstOptions = true
        /// Whether a subscription with wildcards gets what is retained.
        var givesRetainedToWildcards = true
        /// What waits for a session beyond its window; what comes then is dropped.
        var queueLimit = 1_000
        /// The largest payload; who sends a larger one is disconnected.
        var largestPayload = 268_435_455
        /// Whether a message comes once for each filter that matches, or once at the highest level.
        var copiesForEachFilter = true
        /// A higher level is lowered to this one.
        var maximumQoS: UInt8 = 1
        /// Each message at QoS 1 goes out twice.
        var deliversTwice = false
        /// Whether it may be written, or read; all may be unless said otherwise.
        var mayWrite: @Sendable (Client, String) -> Bool = { _, _ in true }
        var mayRead: @Sendable (Client, String) -> Bool = { _, _ in true }
    }

    struct Message: Equatable, Codable {
        var topic: String
        var payload: [UInt8]
        var qos: UInt8
        var retain: Bool
        /// In milliseconds of the model's time.
        var expires: Int64?

        func isExpired(at now: Int64) -> Bool { expires.map { $0 <= now } ?? false }
    }

    struct Will: Equatable, Codable {
        var message: Message
        /// In milliseconds.
        var delay: Int64 = 0
    }

    struct Connect: Codable {
        var isClean = false
        /// How long the session is kept after the connection, in milliseconds; nil is for ever.
        var expiry: Int64? = 0
        var window = 20
        var will: Will?
        /// 3.1.1 knows no codes for a message that is refused, and no options of subscriptions.
        var speaks5 = true
    }

    struct Filter: Equatable, Codable {
        var qos: UInt8 = 1
        var noLocal = false
        var retainAsPublished = false
        /// 0, 1 or 2, as MQTT 5.0 says in 3.8.3.1.
        var retainHandling: UInt8 = 0
    }

    /// What it sends to a client, or does to its connection.
    enum Effect: Equatable {
        case connected(Client, sessionPresent: Bool)
        case granted(Client, filter: String, qos: UInt8)
        /// - reason: 0, or from 0x80 on why it was refused; only with MQTT 5.
        case acknowledged(Client, reason: UInt8)
        case delivers(Client, Delivery)
        case closed(Client)
    }

    struct Delivery: Equatable, Codable {
        var message: Message
        var isDuplicate = false
        /// 0 at QoS 0.
        var id: UInt64
    }

    fileprivate struct Session: Codable {
        var connect: Connect
        var isConnected = true
        /// When it ends, while there is no connection.
        var ends: Int64?
        var filters: [String: Filter] = [:]
        /// Sent and not acknowledged, in order.
        var underWay: [Delivery] = []
        var waiting: [Message] = []
        /// When the will is due, while there is no connection.
        var willDue: Int64?
    }

    /// All that it has, between two things that it does.
    struct Kept: Codable {
        fileprivate(set) var now: Int64
        fileprivate var sessions: [Client: Session] = [:]
        fileprivate(set) var retained: [String: Message] = [:]
        fileprivate var lastID: UInt64 = 0

        init(now: Int64 = 0) { self.now = now }

        /// What a client's session is subscribed to, in order.
        func filters(of client: Client) -> [String] { sessions[client]?.filters.keys.sorted() ?? [] }
    }

    /// Who gets what is published on a topic, and by which filters, in order.
    private struct Receiver {
        let client: Client
        let filters: [Filter]
    }

    let traits: Traits
    private(set) var kept: Kept
    private var effects: [Effect] = []
    /// By topic, for those that were published on since a matching subscription last changed.
    private var receivers: [String: [Receiver]] = [:]
    private static let maximumReceivers = 10_000

    init(_ traits: Traits = Traits(), at now: Int64 = 0) { self.init(Kept(now: now), traits) }
    init(_ kept: Kept, _ traits: Traits = Traits()) { (self.traits, self.kept) = (traits, kept) }

    private(set) var now: Int64 {
        get { kept.now }
        set { kept.now = newValue }
    }
    private(set) var retained: [String: Message] {
        get { kept.retained }
        _modify { yield &kept.retained }
    }
    private var sessions: [Client: Session] {
        get { kept.sessions }
        _modify { yield &kept.sessions }
    }
    private var lastID: UInt64 {
        get { kept.lastID }
        set { kept.lastID = newValue }
    }

    /// What it has done since this was called last, in order.
    mutating func takeEffects() -> [Effect] {
        defer { effects = [] }
        return effects
    }

    /// Whose sessions there are.
    var clients: [Client] { sessions.keys.sorted() }

    /// What a client has subscribed to.
    func filters(of client: Client) -> [String: Filter] { sessions[client]?.filters ?? [:] }

    /// Messages that wait or are under way to a client.
    func backlog(of client: Client) -> Int {
        sessions[client].map { $0.waiting.count + $0.underWay.count } ?? 0
    }

    // MARK: Connections

    mutating func connected(_ client: Client, _ connect: Connect) {
        if let session = sessions[client], session.isConnected {
            effects.append(.closed(client))
            // Who comes again goes on: mosquitto says of such a session that nothing has happened to it.
            ended(client, isGoodbye: session.connect.expiry != 0 && !connect.isClean)
        }
        let known = connect.isClean ? nil : sessions[client]
        if connect.isClean, sessions[client]?.willDue != nil { publishWill(of: client) }
        var session = known ?? Session(connect: connect)
        session.connect = connect
        (session.isConnected, session.ends, session.willDue) = (true, nil, nil)
        replaceSession(of: client, by: session)
        effects.append(.connected(client, sessionPresent: known != nil))
        for index in session.underWay.indices {
            sessions[client]?.underWay[index].isDuplicate = true
            session.underWay[index].isDuplicate = true
            effects.append(.delivers(client, session.underWay[index]))
        }
        sendWaiting(client)
    }

    /// It said goodbye: there is no will.
    mutating func left(_ client: Client) { ended(client, isGoodbye: true) }

    /// Its connection broke.
    mutating func cut(_ client: Client) { ended(client, isGoodbye: false) }

    private mutating func ended(_ client: Client, isGoodbye: Bool) {
        guard let session = sessions[client], session.isConnected else { return }
        sessions[client]?.isConnected = false
        if isGoodbye { sessions[client]?.connect.will = nil }
        let end = session.connect.expiry.map { now + $0 }
        sessions[client]?.ends = end
        if let will = sessions[client]?.connect.will {
            // At the end of the session, if that comes first.
            let due = min(now + will.delay, end ?? .max)
            sessions[client]?.willDue = due
        }
        passed(to: now)
    }

    private mutating func publishWill(of client: Client) {
        guard let will = sessions[client]?.connect.will else { return }
        sessions[client]?.connect.will = nil
        sessions[client]?.willDue = nil
        if traits.mayWrite(client, will.message.topic) { publish(will.message, from: client) }
    }

    /// Time has gone on: wills come, sessions end.
    mutating func passed(to time: Int64) {
        now = max(now, time)
        let due = sessions.filter { min($0.value.willDue ?? .max, $0.value.ends ?? .max) <= now }
        for client in due.keys.sorted() {
            if let due = sessions[client]?.willDue, due <= now { publishWill(of: client) }
            if let end = sessions[client]?.ends, end <= now { replaceSession(of: client, by: nil) }
        }
    }

    /// It stops and starts again, as it should or not: all connections end.
    mutating func restarted(isKilled: Bool = false) {
        let connected = sessions.keys.sorted().filter { sessions[$0]?.isConnected == true }
        for client in connected {
            effects.append(.closed(client))
            sessions[client]?.isConnected = false
            let end = sessions[client]?.connect.expiry.map { now + $0 }
            sessions[client]?.ends = end
        }
        for client in connected {
            if !isKilled, traits.publishesWillsAtStop { publishWill(of: client) }
            sessions[client]?.connect.will = nil
        }
        receivers = [:]
        guard traits.persists else { return (sessions, retained) = ([:], [:]) }
        if !traits.persistsNewSessions { sessions = sessions.filter { !$0.value.connect.isClean } }
        passed(to: now)
    }

    /// Forgets a retained message, as some do after a while.
    mutating func forgot(_ topic: String) { retained[topic] = nil }

    // MARK: Subscriptions

    mutating func subscribed(_ client: Client, to text: String, _ filter: Filter) {
        guard let session = sessions[client], session.isConnected else { return }
        let isNew = session.filters[text] == nil
        var filter = filter
        filter.qos = min(filter.qos, traits.maximumQoS)
        if traits.keepsFirstOptions, let first = session.filters[text] {
            (filter.noLocal, filter.retainAsPublished) = (first.noLocal, first.retainAsPublished)
        }
        forgetReceivers(by: text)
        sessions[client]?.filters[text] = filter
        effects.append(.granted(client, filter: text, qos: filter.qos))
        let handling = session.connect.speaks5 ? filter.retainHandling : 0
        guard handling == 0 || (handling == 1 && isNew),
            traits.givesRetainedToWildcards || !text.contains(where: { $0 == "+" || $0 == "#" })
        else { return }
        for topic in retained.keys.filter({ Self.matches($0, text) }).sorted() {
            guard let message = retained[topic] else { continue }
            if message.isExpired(at: now) {
                retained[topic] = nil
            } else if traits.mayRead(client, topic) {
                give(client, message, at: min(message.qos, filter.qos), retain: true)
            }
        }
    }

    mutating func unsubscribed(_ client: Client, from text: String) {
        forgetReceivers(by: text)
        sessions[client]?.filters[text] = nil
    }

    // MARK: Messages

    /// A client published.
    ///
    /// - Parameter refusal: the reason code with which it is refused, whatever the rights; 0 for none.
    mutating func published(_ client: Client, _ message: Message, refusal: UInt8 = 0) {
        guard let session = sessions[client], session.isConnected else { return }
        guard message.payload.count <= traits.largestPayload, message.qos <= traits.maximumQoS else {
            effects.append(.closed(client))
            return ended(client, isGoodbye: false)
        }
        let reason = traits.mayWrite(client, message.topic) ? refusal : 0x87
        if reason == 0 { publish(message, from: client) }
        if message.qos > 0 {
            effects.append(.acknowledged(client, reason: session.connect.speaks5 ? reason : 0))
        }
    }

    private mutating func publish(_ message: Message, from client: Client) {
        if message.retain { retained[message.topic] = message.payload.isEmpty ? nil : message }
        for receiver in receivers(of: message.topic) where traits.mayRead(receiver.client, message.topic) {
            let other = receiver.client
            guard let session = sessions[other] else { continue }
            var copies = other == client ? receiver.filters.filter { !$0.noLocal } : receiver.filters
            guard !copies.isEmpty else { continue }
            if !traits.copiesForEachFilter { copies = [Filter(qos: copies.map(\.qos).max() ?? 0)] }
            // To a client of 3.1.1 only the first one that is found, and that it gets.
            if !session.isConnected { copies.removeAll { min($0.qos, message.qos) == 0 } }
            for filter in copies.prefix(session.connect.speaks5 ? .max : 1) {
                give(
                    other, message, at: min(filter.qos, message.qos),
                    retain: message.retain && filter.retainAsPublished)
            }
        }
    }

    private mutating func receivers(of topic: String) -> [Receiver] {
        if let known = receivers[topic] { return known }
        let found = topic.withCString { name in
            sessions.compactMap { client, session in
                let filters = session.filters.filter { Self.matches(name, $0.key) }
                    .sorted { Self.precedes($0.key, $1.key) }
                return filters.isEmpty ? nil : Receiver(client: client, filters: filters.map(\.value))
            }
        }.sorted { $0.client < $1.client }
        if receivers.count >= Self.maximumReceivers { receivers = [:] }
        receivers[topic] = found
        return found
    }

    /// Forgets who gets what is published on topics to which that filter leads.
    private mutating func forgetReceivers(by filter: String) {
        for topic in receivers.keys.filter({ Self.matches($0, filter) }) { receivers[topic] = nil }
    }

    /// The one way to replace or remove a session.
    private mutating func replaceSession(of client: Client, by session: Session?) {
        for filter in sessions[client]?.filters.keys ?? [:].keys where session?.filters[filter] == nil {
            forgetReceivers(by: filter)
        }
        sessions[client] = session
    }

    private mutating func give(_ client: Client, _ message: Message, at qos: UInt8, retain: Bool) {
        var message = message
        (message.qos, message.retain) = (qos, retain)
        guard let session = sessions[client] else { return }
        if qos == 0 {
            if session.isConnected { effects.append(.delivers(client, Delivery(message: message, id: 0))) }
            return
        }
        for _ in 0..<(traits.deliversTwice ? 2 : 1) where session.waiting.count < traits.queueLimit {
            sessions[client]?.waiting.append(message)
        }
        sendWaiting(client)
    }

    private mutating func sendWaiting(_ client: Client) {
        while let session = sessions[client], session.isConnected,
            session.underWay.count < session.connect.window,
            let message = session.waiting.first
        {
            sessions[client]?.waiting.removeFirst()
            if message.isExpired(at: now) { continue }
            lastID += 1
            let delivery = Delivery(message: message, id: lastID)
            sessions[client]?.underWay.append(delivery)
            effects.append(.delivers(client, delivery))
        }
    }

    /// A client acknowledged what came with that number.
    mutating func acknowledged(_ client: Client, _ id: UInt64) {
        sessions[client]?.underWay.removeAll { $0.id == id }
        sendWaiting(client)
    }

    /// Whether a filter matches a topic (MQTT 5.0, 4.7).
    static func matches(_ topic: String, _ filter: String) -> Bool {
        topic.withCString { matches($0, filter) }
    }

    // Not handed over as strings: each would be copied, and that takes longer than to look at it.
    private static func matches(_ topic: UnsafePointer<CChar>, _ filter: String) -> Bool {
        filter.withCString { waypost_topic_matches(topic, $0) != 0 }
    }

    /// The order in which filters are found in a tree of levels: one that is named before `+`, and that before `#`.
    private static func precedes(_ one: String, _ other: String) -> Bool {
        let rank = { (level: Substring) in level == "#" ? 2 : level == "+" ? 1 : 0 }
        let (one, other) = (
            one.split(separator: "/", omittingEmptySubsequences: false).map(rank),
            other.split(separator: "/", omittingEmptySubsequences: false).map(rank)
        )
        // What lies below is looked for before what ends here.
        for (one, other) in zip(one, other) where one != other { return one < other }
        return one.count > other.count
    }
}
