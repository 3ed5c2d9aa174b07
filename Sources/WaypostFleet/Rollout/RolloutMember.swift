package import Waypost
package import WaypostMessages

/// An agent's part in the roll-outs of one group: which of the group's two maps is in force here, and why.
///
/// A value without a clock and without a socket: what is in force follows from the control document, the base, the
/// candidate, the agent's own name, and how long nothing was heard.
package struct RolloutMember: Sendable {
    /// What is in force.
    package struct Choice: Sendable, Hashable {
        /// Whether the candidate lies in the place of the group's map.
        package var isCandidateInForce: Bool
        /// What is reported.
        package var place: RolloutReport.Place
        package var reason: RolloutReport.Reason
        /// Whether the candidate is chosen here and is not there yet.
        var needsCandidate: Bool

        static let candidate = Choice(
            isCandidateInForce: true, place: .next, reason: .chosen, needsCandidate: false)

        static func base(_ reason: RolloutReport.Reason, needsCandidate: Bool = false) -> Choice {
            Choice(
                isCandidateInForce: false, place: .base, reason: reason, needsCandidate: needsCandidate)
        }
    }

    package let agent: String
    /// The newest control document that was taken.
    package private(set) var control: RolloutControl? {
        didSet {
            guard let control, oldValue?.salt != control.salt else { return }
            number = RolloutHash.value(salt: control.salt, agent: agent)
        }
    }
    /// Its own number under the control document's salt.
    private var number: UInt64 = 0
    /// Of its bytes.
    private var digest = ""
    /// When the last one came, in milliseconds on the monotonic clock.
    private var heard: Int64 = 0
    /// The roll-out in which the agent went back by itself.
    private(set) var guarded: String?
    /// Opens of URLs that the candidate changes, since the process began or the roll-out did.
    package private(set) var opened: Int64 = 0
    package private(set) var failed: Int64 = 0
    private var recent = RecentOpens()

    init(agent: String) { self.agent = agent }

    /// Whether no more opens failed than there were, and none is counted without a document.
    private var isConsistent: Bool { 0...opened ~= failed && (control != nil || guarded == nil) }

    /// What becomes of a control document.
    package enum Taken: Sendable, Hashable {
        /// It is the newest now.
        case new
        /// These bytes came before.
        case known
    }

    /// Takes a control document.
    ///
    /// - Throws: ``Failure``: 422 when it is for another group, 409 `ROLLBACK` when it is older than one before, so
    ///   that a controller that was replaced changes nothing any more, and does not void that one; 409 `EQUIVOCATION`
    ///   when it has the number of one with other bytes, 422 when its epoch is too far above.
    package mutating func take(
        _ control: RolloutControl, for audience: Audience, digest: String, at now: Int64
    ) throws(Failure) -> Taken {
        defer { assert(isConsistent) }
        let taken = try check(control, for: audience, digest: digest)
        took(control, digest: digest, at: now)
        return taken
    }

    private func check(
        _ control: RolloutControl, for audience: Audience, digest: String
    ) throws(Failure) -> Taken {
        guard control.audience == audience.description else {
            throw Failure(.badField, "aud is \(control.audience.quoted), the topic is \(audience)'s")
        }
        guard let known = self.control else { return .new }
        guard digest != self.digest else { return .known }
        guard control.order >= known.order || control.voids.contains(known.order) else {
            throw Failure(
                .rollback,
                "epoch \(control.epoch), seq \(control.sequence) of roll-out \(control.id) is older than "
                    + "epoch \(known.epoch), seq \(known.sequence), which was already taken")
        }
        guard control.order != known.order else {
            throw Failure(
                .equivocation,
                "epoch \(control.epoch), seq \(control.sequence) was already taken with different content")
        }
        guard control.epoch - known.epoch <= RolloutControl.longestJump else {
            throw Failure(
                .badField,
                "epoch \(control.epoch) of roll-out \(control.id) is too far above \(known.epoch), which was taken"
            )
        }
        return .new
    }

    /// A control document that ``take(_:for:digest:at:)`` took in a copy is stored.
    mutating func took(_ control: RolloutControl, digest: String, at now: Int64) {
        defer { assert(isConsistent) }
        heard = now
        guard digest != self.digest || self.control == nil else { return }
        if let known = self.control, control.id != known.id {
            (opened, failed, recent) = (0, 0, RecentOpens())
        }
        self.control = control
        self.digest = digest
    }

    /// What is in force.
    ///
    /// - Parameters:
    ///   - base: The group's own map; nil when there is none.
    ///   - candidate: The digest of the candidate that is stored; nil when there is none.
    ///   - isRefused: Whether the candidate that the control document names does not fit here.
    /// - Returns: nil when there was no roll-out.
    package func choice(
        base: RolloutControl.MapID?, candidate: String?, isRefused: Bool, at now: Int64
    ) -> Choice? {
        guard let control else { return nil }
        // Nothing is left to choose.
        if let base, base.digest == control.next.digest {
            return Choice(isCandidateInForce: false, place: .next, reason: .promoted, needsCandidate: false)
        }
        guard control.state.hasCandidate else { return .base(.notChosen) }
        guard base?.digest == control.base?.digest else { return .base(.drifted) }
        guard !control.exclude.contains(agent) else { return .base(.excluded) }
        guard control.chooses(agent, number) else { return .base(.notChosen) }
        guard guarded != control.id else { return .base(.guarded) }
        guard !isSilent(at: now) else { return .base(.silent) }
        guard !isRefused else { return .base(.refused) }
        guard candidate == control.next.digest else { return .base(.chosen, needsCandidate: true) }
        return .candidate
    }

    /// Whether nothing was heard for longer than the document says, and that means going back.
    func isSilent(at now: Int64) -> Bool {
        guard let control, control.silent == .revert, let hold = control.hold else { return false }
        return now - heard > hold
    }

    /// What is reported of a choice.
    package func report(_ choice: Choice) -> RolloutReport? {
        control.map { control in
            RolloutReport(
                layer: control.audience, id: control.id, epoch: control.epoch, sequence: control.sequence,
                place: choice.place, reason: choice.reason, opened: opened, failed: failed)
        }
    }

    /// A URL was opened about which base and candidate differ, with the candidate in force.
    ///
    /// - Returns: whether the agent goes back now.
    package mutating func count(failing: Bool, at now: Int64) -> Bool {
        defer { assert(isConsistent) }
        opened += 1
        if failing { failed += 1 }
        guard let control, let limit = control.limit, guarded != control.id else { return false }
        recent.add(failing: failing, within: limit.within, at: now)
        guard failing, recent.failed >= limit.failures,
            recent.failed * 100 >= recent.opened * limit.share
        else { return false }
        guarded = control.id
        return true
    }

    /// Why it went back, for people.
    package var guardText: String {
        guard let control, let limit = control.limit else { return "" }
        return
            "\(recent.failed) of \(recent.opened) opens of URLs that rev \(control.next.revision ?? 0) changes "
            + "failed within \(TimeText.span(limit.within)); back to the map before roll-out \(control.id)"
    }
}

extension RolloutMember {
    /// What is stored of it, as JSON.
    package var stored: String? {
        guard let control else { return nil }
        let json: JSONValue = [
            "control": (try? JSONValue(parsing: control.encoded(), limits: .trustedFile)) ?? .null,
            "digest": .string(digest), "guarded": .init(guarded),
        ]
        return json.text
    }

    /// What was stored; nothing when that can't be read.
    mutating func restore(_ text: String, at now: Int64) {
        defer { assert(isConsistent) }
        guard let json = try? JSONValue(parsing: Array(text.utf8), limits: .trustedFile),
            let document = json["control"], let control = try? RolloutControl(document),
            let digest = json["digest"]?.stringValue
        else { return }
        self.control = control
        self.digest = digest
        guarded = json["guarded"]?.stringValue
        heard = now
    }
}

/// Opens of the last while, in a few spans of time that are forgotten one by one.
struct RecentOpens: Sendable {
    private static let spans: Int64 = 12

    private var counts: [(span: Int64, opened: Int, failed: Int)] = []

    var opened: Int { counts.reduce(0) { $0 + $1.opened } }
    var failed: Int { counts.reduce(0) { $0 + $1.failed } }

    mutating func add(failing: Bool, within time: Int64, at now: Int64) {
        let span = now / max(1, time / Self.spans)
        counts.removeAll { $0.span <= span - Self.spans }
        if counts.last?.span != span { counts.append((span, 0, 0)) }
        counts[counts.count - 1].opened += 1
        if failing { counts[counts.count - 1].failed += 1 }
    }
}
