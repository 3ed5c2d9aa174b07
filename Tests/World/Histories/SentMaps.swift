import Waypost

/// The maps that people sent to one layer of an agent, and what it said of them.
///
/// Each has its number in all that it does: who opens or calls something sees which one was in force.
struct SentMaps: Codable {
    /// What a map does beside its redirects.
    enum Kind: String, Codable, CaseIterable {
        case plain, off, words, service, on, answer, replace, gate, page
        /// All pages of a hall, by a pattern.
        case hall
        /// The same pages go through a gate of the program.
        case doorman
    }

    /// What shows which map is in force.
    enum Probe: String, Codable, CaseIterable {
        /// An open that is redirected twice.
        case page
        case call
        /// An open of what a map may close.
        case door
        /// One of many pages, which must not be opened twice.
        case hall
    }

    /// What a gate of the program says to an open of a hall, by its number.
    enum Passage { case passes, waits, stops }

    static func passage(_ number: Int) -> Passage {
        switch number % 4 {
        case 0: .stops
        case 1: .waits
        default: .passes
        }
    }

    let layer: String
    /// Those that may be in force.
    private var kinds: [Int64: Kind] = [0: .plain]
    private(set) var documents: [Int64: String] = [:]
    /// The newest that the agent said it has in force.
    private(set) var inForce: Int64 = 0
    private var last: Int64 = 0

    init(layer: String) { self.layer = layer }

    /// The newest that may be in force.
    var newest: Int64 { kinds.keys.max() ?? 0 }

    /// The part of the topic that names who gets it.
    var audience: String { layer == "agent" ? "k1" : layer }
    private var name: String { layer == "agent" ? "agent" : "fleet" }
    var service: String { layer == "agent" ? "AgentSwitch" : "FleetSwitch" }

    // MARK: What is sent

    /// The next one; its revision, and the document.
    mutating func next(_ kind: Kind) -> (revision: Int64, document: String) {
        last += 1
        kinds[last] = kind
        return (last, document(last, kind))
    }

    /// What is published of it.
    mutating func published(_ revision: Int64, _ text: String) { documents[revision] = text }

    /// One that is to be refused, in one of four ways.
    mutating func spoiled(_ way: Int) -> String {
        last += 1
        switch way {
        case 0: return document(last, .plain, more: [#"{"routerType":"offf","path":"shop://add/1"}"#])
        case 1:
            let circle = [("x", "y"), ("y", "x")].map { from, to in
                #"{"routerType":1,"orginPath":"shop://\#(from)","targetPath":"shop://\#(to)"}"#
            }
            return document(last, .plain, more: circle)
        case 2: return document(last, .plain, audience: "k2")
        // As new as the one in force, and another.
        default: return document(max(1, inForce), .plain, marker: "\(name)-\(last)-false")
        }
    }

    /// A good one, which is to be refused for who sends it.
    mutating func unsigned() -> String {
        last += 1
        return document(last, .plain)
    }

    private func document(
        _ revision: Int64, _ kind: Kind, marker: String? = nil, audience: String? = nil, more: [String] = []
    ) -> String {
        let marker = marker ?? "\(name)-\(revision)"
        let entries =
            [("where/\(name)", "via/\(marker)"), ("via/\(marker)", "at/\(marker)")].map { from, to in
                #"{"routerType":1,"orginPath":"shop://\#(from)","targetPath":"shop://\#(to)"}"#
            } + entries(of: kind, revision) + more
        return
            #"{"type":"map","id":"m\#(revision)","rev":\#(revision),"aud":"\#(audience ?? self.audience)","#
            + #""entries":[\#(entries.joined(separator: ","))]}"#
    }

    private func entries(of kind: Kind, _ revision: Int64) -> [String] {
        let method = #""service":"\#(service)","method":"read()""#
        let code = #""code":\#(1_000 + revision),"name":"CLOSED""#
        let page = #""path":"shop://door/\#(name)""#
        let hall = #""path":"shop://hall/\#(name)/"#
        switch kind {
        case .plain: return []
        case .off: return [#"{"routerType":"off",\#(method),\#(code)}"#]
        case .words: return [#"{"routerType":"off",\#(method),"reason":"switched off by \#(revision)"}"#]
        case .service: return [#"{"routerType":"off","service":"\#(service)",\#(code)}"#]
        case .on:
            return [
                #"{"routerType":"off","service":"\#(service)",\#(code)}"#, #"{"routerType":"on",\#(method)}"#,
            ]
        case .answer: return [#"{"routerType":"answer",\#(method),"value":\#(revision)}"#]
        case .replace: return [#"{"routerType":"replace",\#(method),"by":{"method":"other()"}}"#]
        case .gate: return [#"{"routerType":"gate",\#(page),"reason":"closed by \#(revision)"}"#]
        case .page: return [#"{"routerType":"off",\#(page),\#(code)}"#]
        case .hall: return [#"{"routerType":"off",\#(hall):number",\#(code)}"#]
        case .doorman: return [#"{"routerType":"gate",\#(hall)**","gate":"doorman"}"#]
        }
    }

    /// What shows best whether the newest one is in force.
    var telling: Probe {
        switch kinds[newest] ?? .plain {
        case .off, .words, .service, .on, .answer, .replace: .call
        case .gate, .page: .door
        case .hall, .doorman: .hall
        case .plain: .page
        }
    }

    /// The command that asks, without its id.
    func question(_ probe: Probe, _ number: Int) -> String {
        switch probe {
        case .call: #""type":"call","service":"\#(service)","method":"read()""#
        case .page, .door, .hall: #""type":"open","url":"\#(url(probe, number))""#
        }
    }

    /// What is opened.
    func url(_ probe: Probe, _ number: Int) -> String {
        switch probe {
        case .page: "shop://where/\(name)"
        case .hall: "shop://hall/\(name)/\(number)"
        case .door, .call: "shop://door/\(name)"
        }
    }

    // MARK: What is said

    /// What an answer may be since a revision was in force, by those that may have come meanwhile.
    func answers(_ probe: Probe, _ number: Int, since revision: Int64) -> Set<String> {
        Set(kinds.filter { $0.key >= revision }.map { answer(probe, number, $0.key, $0.value) })
    }

    private func answer(_ probe: Probe, _ number: Int, _ revision: Int64, _ kind: Kind) -> String {
        switch (probe, kind) {
        case (.page, _): #""\#(name)-\#(revision)""#
        case (.call, .off), (.call, .service), (.door, .page), (.hall, .hall): "code \(1_000 + revision)"
        case (.call, .words): "SWITCHED_OFF by \(revision)"
        case (.call, .answer): "\(revision)"
        case (.call, .replace): "-2"
        case (.call, _): "-1"
        case (.door, .gate): "closed by \(revision)"
        case (.hall, .doorman) where Self.passage(number) == .stops: "closed by 0"
        case (.door, _), (.hall, _): #""open""#
        }
    }

    /// What the handlers of the program see.
    enum Entry {
        case read, other, door
        /// - hasPassed: Whether its gate was asked and let it pass.
        case hall(Int, hasPassed: Bool)
        /// The gate is asked.
        case gate
    }

    /// Something of the program begins: law 5, by the map that the agent has said to be in force, or a newer one.
    func enters(_ entry: Entry) throws(People.Breach) {
        let mayBegin = kinds.contains { revision, kind in
            guard revision >= inForce else { return false }
            return switch entry {
            case .read: ![.off, .words, .service, .answer, .replace].contains(kind)
            case .other: kind == .replace
            case .door: ![.page, .gate].contains(kind)
            case .hall(_, let hasPassed): kind != .hall && (kind != .doorman || hasPassed)
            case .gate: kind == .doorman
            }
        }
        guard mayBegin else {
            throw People.Breach(law: 5, text: "\(layer) has the map \(inForce) in force, and \(entry) begins")
        }
    }

    /// The agent says what it has in force: law 5.
    mutating func heard(_ revision: Int64) throws(People.Breach) {
        guard revision >= inForce else {
            throw People.Breach(law: 5, text: "\(layer) has the map \(revision) in force, and had \(inForce)")
        }
        guard kinds[revision] != nil else {
            throw People.Breach(law: 5, text: "\(layer) has the map \(revision), which must be refused")
        }
        inForce = revision
    }
}
