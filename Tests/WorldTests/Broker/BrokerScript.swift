import TestSupport

@testable import World

/// Some clients, what they do drawn from a seed, in the model and at a real mosquitto: what arrives must be the same.
final class BrokerScript {
    struct Difference: Error, CustomStringConvertible { var description: String }

    private static let topics = ["w", "w/1", "w/2", "w/1/x", "w//x", "in/1", "out/1"]
    private static let filters = ["w", "w/#", "w/+", "w/1", "+/1", "+/+/x", "#", "in/1", "out/#"]
    /// Who may do what, as ``traits(persists:)`` says it.
    ///
    /// As patterns: of a session that was there before a restart, mosquitto 2.0.11 doesn't know what one without a name
    /// may read.
    static let rights = [
        "pattern readwrite w/#", "pattern readwrite w", "pattern write in/#", "pattern read out/#",
    ]

    static func traits(persists: Bool = true) -> BrokerModel.Traits {
        var traits = BrokerModel.Traits()
        traits.persists = persists
        traits.mayWrite = { _, topic in topic == "w" || topic.hasPrefix("w/") || topic.hasPrefix("in/") }
        traits.mayRead = { _, topic in topic == "w" || topic.hasPrefix("w/") || topic.hasPrefix("out/") }
        return traits
    }

    private let broker: TestBroker
    private(set) var model: BrokerModel
    private var clients: [String: WireClient] = [:]
    /// What came to each and is not acknowledged: by the model's number and by the wire's.
    private var held: [String: [(model: UInt64, wire: UInt16)]] = [:]
    private var random: SeededGenerator
    private var log: [String] = []
    private var number = 0

    init(_ broker: TestBroker, _ traits: BrokerModel.Traits, seed: UInt64 = 0) {
        (self.broker, model, random) = (broker, BrokerModel(traits), SeededGenerator(seed: seed))
    }

    /// One step of chance.
    func step() async throws {
        let name = ["a", "b", "c"].randomElement(using: &random) ?? "a"
        guard clients[name] != nil else { return try connect(name, drawnConnect(name)) }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<20: try subscribe(name, drawn(Self.filters), drawnFilter(of: name))
        case 20..<24: try unsubscribe(name, drawn(Self.filters))
        case 24..<74: try publish(name, drawnMessage())
        case 74..<88: try acknowledge(name)
        case 88..<93: try await end(name, isGoodbye: true)
        case 93..<98: try await end(name, isGoodbye: false)
        case 98: try connect(name, drawnConnect(name))
        default: try await restart()
        }
    }

    private func drawn(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "w" }

    /// `c` speaks 3.1.1: no window, and a session that is kept for ever or not at all.
    private func drawnConnect(_ name: String) -> BrokerModel.Connect {
        // Once a window was full, mosquitto 2.0.11 sends more than it may.
        var connect = BrokerModel.Connect(window: 65_535, speaks5: name != "c")
        connect.isClean = Int.random(in: 0..<4, using: &random) == 0
        connect.expiry = connect.isClean && !connect.speaks5 ? 0 : nil
        if connect.speaks5 {
            connect.expiry = Bool.random(using: &random) ? nil : 0
        }
        if Bool.random(using: &random) { connect.will = BrokerModel.Will(message: drawnMessage()) }
        return connect
    }

    private func drawnFilter(of name: String) -> BrokerModel.Filter {
        var filter = BrokerModel.Filter(qos: Int.random(in: 0..<4, using: &random) == 0 ? 0 : 1)
        guard name != "c" else { return filter }
        filter.noLocal = Int.random(in: 0..<4, using: &random) == 0
        filter.retainAsPublished = Int.random(in: 0..<4, using: &random) == 0
        filter.retainHandling = UInt8.random(in: 0...2, using: &random)
        return filter
    }

    private func drawnMessage() -> BrokerModel.Message {
        number += 1
        let isRetained = Int.random(in: 0..<3, using: &random) == 0
        let isEmpty = isRetained && Int.random(in: 0..<4, using: &random) == 0
        return BrokerModel.Message(
            topic: drawn(Self.topics), payload: isEmpty ? [] : Array("\(number)".utf8),
            qos: Int.random(in: 0..<4, using: &random) == 0 ? 0 : 1, retain: isRetained)
    }

    // MARK: Both

    func connect(_ name: String, _ connect: BrokerModel.Connect) throws {
        log.append(
            "\(name) connects: \(connect.isClean ? "clean " : "")expiry \(connect.expiry ?? -1), will \(connect.will.map { Self.text($0.message) } ?? "none")"
        )
        model.connected(name, connect)
        held[name] = []
        let client = try WireClient(name, connect, port: broker.port)
        clients[name] = client
        try compare(hadSession: (name, client.hadSession), sorted: true)
    }

    func subscribe(_ name: String, _ filter: String, _ options: BrokerModel.Filter) throws {
        log.append(
            "\(name) subscribes to \(filter): \(options.qos) \(options.noLocal) \(options.retainAsPublished) \(options.retainHandling)"
        )
        model.subscribed(name, to: filter, options)
        let granted = try clients[name]?.subscribe(filter, options)
        try compare(granted: granted, sorted: true)
    }

    func unsubscribe(_ name: String, _ filter: String) throws {
        log.append("\(name) gives up \(filter)")
        model.unsubscribed(name, from: filter)
        try clients[name]?.unsubscribe(filter)
        try compare()
    }

    /// - Parameter expiry: In seconds.
    func publish(_ name: String, _ message: BrokerModel.Message, expiry: UInt32? = nil) throws {
        log.append("\(name) publishes \(Self.text(message))")
        var known = message
        known.expires = expiry.map { model.now + Int64($0) * 1_000 }
        model.published(name, known)
        let isRefused = try clients[name]?.publish(message, expiry: expiry)
        try compare(isRefused: isRefused)
    }

    /// The oldest one that came, or one of the others.
    func acknowledge(_ name: String) throws {
        guard let index = held[name]?.indices.randomElement(using: &random), let one = held[name]?[index]
        else { return }
        log.append("\(name) acknowledges its number \(index)")
        held[name]?.remove(at: index)
        model.acknowledged(name, one.model)
        try clients[name]?.acknowledge(one.wire)
        try compare()
    }

    /// - Parameter isQuiet: Whether nothing comes of it later, by itself.
    func end(_ name: String, isGoodbye: Bool, isQuiet: Bool = true) async throws {
        log.append("\(name) \(isGoodbye ? "leaves" : "is cut off")")
        let ends = { @Sendable (lines: [String]) in
            lines.count { $0.contains("Client \(name) closed") || $0.contains("Client \(name) disconnected") }
        }
        let before = ends(broker.log)
        if isGoodbye { try clients[name]?.leave() }
        clients[name] = nil
        try await broker.waitForLog("the end of \(name)") { ends($0) > before }
        if isGoodbye { model.left(name) } else { model.cut(name) }
        if isQuiet { try compare() }
    }

    func restart() async throws {
        // Of several wills, which comes first is not said anywhere.
        for name in clients.keys.sorted().dropFirst() { try await end(name, isGoodbye: true) }
        log.append("the broker restarts")
        clients = [:]
        try await broker.restart()
        model.restarted()
        _ = model.takeEffects()
    }

    /// It is ended and started again, as by a power cut.
    func kill() async throws {
        log.append("the broker is killed")
        clients = [:]
        try await broker.kill()
        try await broker.start()
        model.restarted(isKilled: true)
        _ = model.takeEffects()
    }

    /// Time goes on, there until its log says what comes of that.
    func passed(_ milliseconds: Int64, until text: String) async throws {
        log.append("\(milliseconds) ms pass")
        try await broker.waitForLog(containing: text)
        model.passed(to: model.now + milliseconds)
        try compare()
    }

    // MARK: Comparing

    private func compare(
        hadSession: (String, Bool)? = nil, granted: UInt8? = nil, isRefused: Bool? = nil, sorted: Bool = false
    ) throws {
        let effects = model.takeEffects()
        var here: [String: [BrokerModel.Delivery]] = [:]
        for effect in effects {
            switch effect {
            case .delivers(let name, let delivery): here[name, default: []].append(delivery)
            case .connected(let name, let isPresent):
                if let hadSession { try same(hadSession.1, isPresent, "\(name)'s session") }
            case .granted(_, _, let qos): if let granted { try same(granted, qos, "the level granted") }
            case .acknowledged(_, let reason):
                if let isRefused { try same(isRefused, reason != 0, "whether it was refused") }
            case .closed: break
            }
        }
        for (name, client) in clients.sorted(by: { $0.key < $1.key }) {
            let there = try client.settle()
            let (one, two) = (there.map(Self.text), (here[name] ?? []).map(Self.text))
            // What is retained comes in the order of a table.
            try same(sorted ? one.sorted() : one, sorted ? two.sorted() : two, "what came to \(name)")
            var known = here[name] ?? []
            for arrived in there {
                guard let index = known.firstIndex(where: { Self.text($0) == Self.text(arrived) }) else {
                    continue
                }
                let delivery = known.remove(at: index)
                if delivery.id > 0 { held[name, default: []].append((delivery.id, arrived.id)) }
            }
        }
    }

    private func same<Value: Equatable>(_ real: Value, _ modelled: Value, _ what: String) throws {
        guard real != modelled else { return }
        throw Difference(
            description: "\(what): mosquitto \(real), the model \(modelled)\n"
                + log.suffix(60).joined(separator: "\n"))
    }

    private static func text(_ arrived: WireClient.Arrived) -> String {
        text(arrived.topic, arrived.payload, arrived.qos, arrived.retain, arrived.isDuplicate)
    }

    private static func text(_ delivery: BrokerModel.Delivery) -> String {
        text(delivery.message) + (delivery.isDuplicate ? " again" : "")
    }

    private static func text(_ message: BrokerModel.Message) -> String {
        text(message.topic, message.payload, message.qos, message.retain, false)
    }

    private static func text(
        _ topic: String, _ payload: [UInt8], _ qos: UInt8, _ retain: Bool, _ isDuplicate: Bool
    ) -> String {
        let flags = (retain ? " retained" : "") + (isDuplicate ? " again" : "")
        return "\(topic)=\(String(decoding: payload, as: UTF8.self)) qos \(qos)\(flags)"
    }
}
