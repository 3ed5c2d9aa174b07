/// What people do, and what goes wrong, one after the other, drawn from a seed.
///
/// Each is drawn also where a history is without it: all others stay as they are.
struct Deeds {
    enum Deed {
        /// A command, sent so many times.
        case command(id: String, payload: String, times: Int)
        /// What is not sent again: a map, retained, or what must be refused.
        case letter(topic: String, payload: String, retain: Bool)
        /// A command of the agent's own machine; under an id of its own, or none.
        case locally(id: String?, payload: String)
        /// The program asks by name what maps decide about.
        case asksItself(SentMaps.Probe, layer: Int, number: Int)
        /// What waits at the program's gate may pass.
        case rings
        /// What its size means follows from the part.
        case fault(HistoryPart, Int64)
        /// The disk is well again.
        case heals
        /// In milliseconds.
        case pause(Int64)
    }

    private var draws: Draws
    private let without: Set<HistoryPart>
    /// Nil where nothing is signed.
    private let signer: Signer?
    private let stranger: Signer?

    init(_ draws: Draws, without: Set<HistoryPart>, signer: Signer?) {
        (self.draws, self.without, self.signer) = (draws, without, signer)
        stranger = signer == nil ? nil : Signer("release", 9)
    }

    private mutating func drawn(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &draws) }

    private mutating func drawn<Element>(_ all: [Element], _ usual: Element) -> Element {
        all.randomElement(using: &draws) ?? usual
    }

    /// - Parameter time: What the agent's clock shows.
    mutating func next(_ people: inout People, at time: SeededScheduler.Clock) -> [Deed] {
        var deeds: [Deed] = []
        switch drawn(0...31) {
        case 0...2: deeds.append(map(&people))
        case 3: deeds.append(spoiledMap(&people))
        case 4, 5: deeds.append(forged(&people))
        case 6...9: deeds.append(question(&people))
        case 10: deeds.append(again(people))
        case 11: deeds.append(reused(&people))
        case 20...22: deeds.append(scheduled(&people, at: time))
        case 23: deeds.append(cancel(&people))
        case 24, 25: deeds += groups(&people)
        case 26, 27: deeds.append(ofGroup(&people))
        case 28, 29: deeds.append(locally(&people))
        case 30: deeds.append(itself(&people))
        case 31: deeds.append(.rings)
        default: deeds.append(command(&people))
        }
        if drawn(0...3) == 0 { deeds.append(.pause(Int64(drawn(0...400)))) }
        if let trouble = trouble() { deeds.append(trouble) }
        return deeds.filter(isThere)
    }

    /// What goes wrong while the agent starts; mostly nothing.
    mutating func atStart() -> [Deed] {
        let (isQuiet, trouble) = (drawn(0...2) > 0, trouble())
        let all = [trouble, .pause(Int64(drawn(0...2_000))), .heals].compactMap(\.self)
        return isQuiet ? [] : all.filter(isThere)
    }

    private func isThere(_ deed: Deed) -> Bool { deed.part.map { !without.contains($0) } ?? true }

    private mutating func trouble() -> Deed? {
        switch drawn(0...59) {
        case 0...5: return .fault(.cut, 0)
        case 6, 7: return .fault(.sync, 0)
        case 8, 9: return .fault(.full, Int64(drawn(4_096...400_000)))
        case 10, 11: return .fault(.broker, Int64(drawn(0...1)))
        case 12...14:
            // Behind or ahead, by up to a minute or an hour, or right again.
            let size = drawn([0, 60_000, 3_600_000], 0)
            return .fault(.clock, Int64(drawn(-size...size)))
        case 15...29: return .heals
        // Quota exceeded, which may pass, and not authorized, which does not.
        case 30: return .fault(.refusal, 0x97)
        case 31: return .fault(.refusal, 0x87)
        default: return nil
        }
    }

    // MARK: Commands

    private static let lanes = ["a", "b", "c"]
    /// Later than any history, and no more than a day.
    private static let expiry = SeededScheduler.wallStart + 76_000_000

    private mutating func text(
        _ id: String, _ what: String, to audience: String = "k1", from: String = "me",
        expires: Int64 = expiry
    ) -> String {
        #"{"id":"\#(id)",\#(what),"lane":"\#(drawn(Self.lanes, "a"))","exp":\#(expires),"#
            + #""aud":"\#(audience)","from":"\#(from)"}"#
    }

    private mutating func sends(
        _ what: String, _ people: inout People, asks question: People.Question? = nil,
        times: SentTimes? = nil, cancels target: String? = nil
    ) -> Deed {
        let number = people.next
        let text = text("c\(number)", what, expires: times?.expires ?? Self.expiry)
        let payload = signer?.sign(text) ?? text
        people.sends(
            "c\(number)",
            People.Sent(number: number, payload: payload, asks: question, times: times, cancels: target))
        // Who sends may repeat what has no answer.
        return .command(id: "c\(number)", payload: payload, times: drawn(0...4) == 0 ? 2 : 1)
    }

    private mutating func command(_ people: inout People) -> Deed {
        let kind = drawn(["add", "slow", "block", "many", "fail", "end"], "add")
        return sends(#""type":"open","url":"shop://\#(kind)/\#(people.next)""#, &people)
    }

    private mutating func question(_ people: inout People) -> Deed {
        let layer = drawn(0...1)
        let (isTelling, any) = (drawn(0...1) == 0, drawn(SentMaps.Probe.allCases, .page))
        let maps = people.layers[layer]
        let probe = isTelling ? maps.telling : any
        return sends(
            maps.question(probe, people.next), &people,
            asks: People.Question(probe: probe, layer: layer, since: maps.inForce))
    }

    /// One that may have ended long ago.
    private mutating func again(_ people: People) -> Deed {
        let number = drawn(0...max(0, people.next - 1))
        // That of a group is another one on another topic.
        guard let sent = people.commands["c\(number)"], sent.group == nil else { return .pause(0) }
        return .command(id: "c\(number)", payload: sent.payload, times: 1)
    }

    /// Another one under the id of one that has ended, which must be refused.
    private mutating func reused(_ people: inout People) -> Deed {
        let old = drawn(0...max(0, people.next - 1))
        guard let sent = people.commands["c\(old)"], sent.result != nil, sent.group == nil else {
            return command(&people)
        }
        let number = people.next
        people.forges("c\(number)")
        people.reuses("c\(old)")
        let text = text("c\(old)", #""type":"open","url":"shop://add/\#(number)""#)
        let payload = signer?.sign(text) ?? text
        return .letter(topic: "k1/cmd/me", payload: payload, retain: false)
    }

    /// What its sender may not send.
    private mutating func forged(_ people: inout People) -> Deed {
        let (way, kind) = (drawn(0...5), drawn(["add", "slow", "fail"], "add"))
        guard let signer, let stranger, !without.contains(.forged) else { return command(&people) }
        let number = people.next
        people.forges("c\(number)")
        let what = #""type":"open","url":"shop://\#(kind)/\#(number)""#
        let good = text("c\(number)", what)
        let payload =
            switch way {
            case 0: good
            case 1: stranger.sign(good)
            case 2: signer.sign(text("c\(number)", what, to: "k2"))
            case 3: signer.sign(text("c\(number)", what, from: "you"))
            case 4: signer.sign(text("c\(number)", #""type":"ping""#), changed: good)
            default: signer.sign(good, as: .map)
            }
        return .letter(topic: "k1/cmd/me", payload: payload, retain: false)
    }

    // MARK: Commands that wait for their time

    /// Times are by the right clock, whatever that of the agent shows.
    private mutating func scheduled(_ people: inout People, at time: SeededScheduler.Clock) -> Deed {
        let kind = drawn(["add", "slow", "block", "fail", "end", "many"], "add")
        let reach = drawn([1_000, 3_000, 30_000, 120_000], 1_000)
        let (delay, life) = (Int64(drawn(100...reach)), Int64(drawn(1...60_000)))
        let (isShort, hasWindow) = (drawn(0...3) == 0, drawn(0...4) == 0)
        let minutes = Int64(drawn(1...3))
        guard !without.contains(.scheduled) else { return command(&people) }
        let now = time.wall - time.error
        let what = #""type":"open","url":"shop://\#(kind)/\#(people.next)""#
        guard hasWindow else {
            let expires = isShort ? now + delay + life : Self.expiry
            let times = SentTimes(after: now + delay, expires: expires, clockError: time.error)
            return sends(what + #","after":\#(now + delay)"#, &people, times: times)
        }
        // From the next full minute on.
        let opens = ((now + delay) / 60_000 + 1) * 60_000
        let window = SentTimes.Window(opens: opens, closes: opens + minutes * 60_000)
        let text = "\(Self.timeOfDay(opens))-\(Self.timeOfDay(window.closes)) utc"
        let times = SentTimes(
            after: 0, window: window, expires: window.closes + life, clockError: time.error)
        return sends(what + #","window":"\#(text)""#, &people, times: times)
    }

    private static func timeOfDay(_ milliseconds: Int64) -> String {
        let minutes = milliseconds / 60_000 % 1_440
        return [minutes / 60, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }

    /// Of a command that waits for its time, or of any other.
    private mutating func cancel(_ people: inout People) -> Deed {
        let (waiting, open) = (people.scheduled, people.open)
        let target = drawn(drawn(0...3) > 0 && !waiting.isEmpty ? waiting : open, "c0")
        guard !without.contains(.scheduled) else { return command(&people) }
        return sends(#""type":"cancel","target":"\#(target)""#, &people, cancels: target)
    }

    // MARK: Groups

    /// One or two people write the document of the agent's groups, well or not.
    private mutating func groups(_ people: inout People) -> [Deed] {
        let isIn = SentGroups.names.map { _ in drawn(0...1) == 0 }
        let (isGood, way, retain) = (drawn(0...3) > 0, drawn(0...6), drawn(0...1) == 0)
        let (isTwice, others) = (drawn(0...2) == 0, SentGroups.names.map { _ in drawn(0...1) == 0 })
        guard !without.contains(.groups) else { return [command(&people)] }
        func letter(_ payload: String, retain: Bool = true) -> Deed {
            .letter(topic: "k1/groups", payload: payload, retain: retain)
        }
        guard isGood else {
            guard way > 1, let signer, let stranger, !without.contains(.forged) else {
                let text = people.groups.spoiled(way, isIn)
                return [letter(signer?.sign(text, as: .groups) ?? text, retain: retain)]
            }
            let text = people.groups.unsigned(isIn)
            let payload =
                way == 4
                ? text : way == 5 ? stranger.sign(text, as: .groups) : signer.sign(text, as: .map)
            return [letter(payload, retain: retain)]
        }
        return (isTwice ? [isIn, others] : [isIn]).enumerated().map { index, isIn in
            let (revision, text) = people.groups.next(isIn, isSame: index > 0)
            let payload = signer?.sign(text, as: .groups) ?? text
            people.groups.published(revision, isIn, payload)
            return letter(payload)
        }
    }

    /// A command to a group in which the agent may be or not.
    private mutating func ofGroup(_ people: inout People) -> Deed {
        let (group, kind) = (drawn(SentGroups.names, "home"), drawn(["add", "slow", "fail"], "add"))
        guard !without.contains(.groups) else { return command(&people) }
        return ofGroup(group, kind, to: &people)
    }

    mutating func ofGroup(_ group: String, _ kind: String = "add", to people: inout People) -> Deed {
        let number = people.next
        let text = text(
            "c\(number)", #""type":"open","url":"shop://\#(kind)/\#(number)""#, to: "@\(group)")
        let payload = signer?.sign(text) ?? text
        people.sends(
            "c\(number)",
            People.Sent(
                number: number, payload: payload,
                group: People.Group(name: group, since: people.groups.inForce)))
        return .letter(topic: "@\(group)/cmd/me", payload: payload, retain: false)
    }

    // MARK: The agent's own machine

    /// A command of a program there; one that it asked for before, a new one, or one without an id.
    private mutating func locally(_ people: inout People) -> Deed {
        let (way, old) = (drawn(0...3), drawn(0...max(0, people.next - 1)))
        let kind = drawn(["add", "slow", "block", "fail"], "add")
        guard !without.contains(.locally) else { return command(&people) }
        let known = people.locally.known
        if way == 0, !known.isEmpty {
            let (id, payload) = known[old % known.count]
            return .locally(id: id, payload: payload)
        }
        let number = people.next
        let what = #""type":"open","url":"shop://\#(kind)/\#(number)","lane":"\#(drawn(Self.lanes, "a"))""#
        let id = way == 1 ? nil : "l\(number)"
        let payload =
            id.map { #"{"id":"\#($0)",\#(what),"exp":\#(Self.expiry)}"# } ?? "{\(what)}"
        people.sendsLocally(id, payload)
        return .locally(id: id, payload: payload)
    }

    /// The program itself opens or calls what maps decide about.
    private mutating func itself(_ people: inout People) -> Deed {
        let (isTelling, any) = (drawn(0...1) == 0, drawn(SentMaps.Probe.allCases, .page))
        let layer = drawn(0...1)
        guard !without.contains(.locally) else { return command(&people) }
        let probe = isTelling ? people.layers[layer].telling : any
        let number = people.next
        people.sendsLocally(nil, "")
        return .asksItself(probe, layer: layer, number: number)
    }

    // MARK: Maps

    private mutating func map(_ people: inout People) -> Deed {
        let (layer, kind) = (drawn(0...1), drawn(SentMaps.Kind.allCases, .plain))
        guard !without.contains(.maps) else { return .pause(0) }
        let (revision, text) = people.layers[layer].next(kind)
        let payload = signer?.sign(text, as: .map) ?? text
        people.layers[layer].published(revision, payload)
        return .letter(topic: "\(people.layers[layer].audience)/map", payload: payload, retain: true)
    }

    /// What must never be in force: a bad one, an older one, one that nobody trusted has signed.
    private mutating func spoiledMap(_ people: inout People) -> Deed {
        let (layer, way) = (drawn(0...1), drawn(0...6))
        let older = drawn(0...3)
        guard !without.contains(.maps) else { return .pause(0) }
        let audience = people.layers[layer].audience
        var payload: String
        if way < 4 {
            // Nothing is in force yet that another could have the number of.
            let way = way == 3 && people.layers[layer].inForce == 0 ? 0 : way
            let text = people.layers[layer].spoiled(way)
            payload = signer?.sign(text, as: .map) ?? text
        } else if way == 4 || signer == nil || without.contains(.forged) {
            let revision = people.layers[layer].inForce - Int64(older)
            guard let old = people.layers[layer].documents[revision] else { return .pause(0) }
            payload = old
        } else {
            let text = people.layers[layer].unsigned()
            payload = way == 5 ? text : stranger?.sign(text, as: .map) ?? text
        }
        return .letter(topic: "\(audience)/map", payload: payload, retain: drawn(0...1) == 0)
    }
}

extension Deeds.Deed {
    /// What a history may be without.
    fileprivate var part: HistoryPart? {
        if case .fault(let part, _) = self { part } else { nil }
    }
}
