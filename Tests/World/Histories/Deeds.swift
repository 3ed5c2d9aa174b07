/// What people do, and what goes wrong, one after the other, drawn from a seed.
///
/// Each is drawn also where a history is without it: all others stay as they are.
struct Deeds {
    enum Deed {
        /// A command, sent so many times.
        case command(id: String, payload: String, times: Int)
        /// What is not sent again: a map, retained, or what must be refused.
        case letter(topic: String, payload: String, retain: Bool)
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

    mutating func next(_ people: inout People) -> [Deed] {
        var deeds: [Deed] = []
        switch drawn(0...19) {
        case 0...2: deeds.append(map(&people))
        case 3: deeds.append(spoiledMap(&people))
        case 4, 5: deeds.append(forged(&people))
        case 6...9: deeds.append(question(&people))
        case 10: deeds.append(again(people))
        case 11: deeds.append(reused(&people))
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
        default: return nil
        }
    }

    // MARK: Commands

    private static let lanes = ["a", "b", "c"]
    /// Later than any history, and no more than a day.
    private static let expiry = SeededScheduler.wallStart + 76_000_000

    private mutating func text(_ id: String, _ what: String, to audience: String = "k1", from: String = "me")
        -> String
    {
        #"{"id":"\#(id)",\#(what),"lane":"\#(drawn(Self.lanes, "a"))","exp":\#(Self.expiry),"#
            + #""aud":"\#(audience)","from":"\#(from)"}"#
    }

    private mutating func sends(
        _ what: String, _ people: inout People, asks question: People.Question? = nil
    ) -> Deed {
        let number = people.next
        let text = text("c\(number)", what)
        let payload = signer?.sign(text, isMap: false) ?? text
        people.sends("c\(number)", People.Sent(number: number, payload: payload, asks: question))
        // Who sends may repeat what has no answer.
        return .command(id: "c\(number)", payload: payload, times: drawn(0...4) == 0 ? 2 : 1)
    }

    private mutating func command(_ people: inout People) -> Deed {
        let kind = drawn(["add", "slow", "block", "many", "fail", "end"], "add")
        return sends(#""type":"open","url":"shop://\#(kind)/\#(people.next)""#, &people)
    }

    private mutating func question(_ people: inout People) -> Deed {
        let layer = drawn(0...1)
        let probe = drawn(SentMaps.Probe.allCases, .page)
        let maps = people.layers[layer]
        return sends(
            maps.question(probe), &people,
            asks: People.Question(probe: probe, layer: layer, since: maps.inForce))
    }

    /// One that may have ended long ago.
    private mutating func again(_ people: People) -> Deed {
        let number = drawn(0...max(0, people.next - 1))
        guard let sent = people.commands["c\(number)"] else { return .pause(0) }
        return .command(id: "c\(number)", payload: sent.payload, times: 1)
    }

    /// Another one under the id of one that has ended, which must be refused.
    private mutating func reused(_ people: inout People) -> Deed {
        let old = drawn(0...max(0, people.next - 1))
        guard people.commands["c\(old)"]?.result != nil else { return command(&people) }
        let number = people.next
        people.forges("c\(number)")
        people.reuses("c\(old)")
        let text = text("c\(old)", #""type":"open","url":"shop://add/\#(number)""#)
        let payload = signer?.sign(text, isMap: false) ?? text
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
            case 1: stranger.sign(good, isMap: false)
            case 2: signer.sign(text("c\(number)", what, to: "k2"), isMap: false)
            case 3: signer.sign(text("c\(number)", what, from: "you"), isMap: false)
            case 4: signer.sign(text("c\(number)", #""type":"ping""#), isMap: false, changed: good)
            default: signer.sign(good, isMap: true)
            }
        return .letter(topic: "k1/cmd/me", payload: payload, retain: false)
    }

    // MARK: Maps

    private mutating func map(_ people: inout People) -> Deed {
        let (layer, kind) = (drawn(0...1), drawn(SentMaps.Kind.allCases, .plain))
        guard !without.contains(.maps) else { return .pause(0) }
        let (revision, text) = people.layers[layer].next(kind)
        let payload = signer?.sign(text, isMap: true) ?? text
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
            payload = signer?.sign(text, isMap: true) ?? text
        } else if way == 4 || signer == nil || without.contains(.forged) {
            let revision = people.layers[layer].inForce - Int64(older)
            guard let old = people.layers[layer].documents[revision] else { return .pause(0) }
            payload = old
        } else {
            let text = people.layers[layer].unsigned()
            payload = way == 5 ? text : stranger?.sign(text, isMap: true) ?? text
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
