import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent
@testable import WaypostFleet

/// Which map is in force, as a value without clock or socket.
@Suite struct `An agent's part in a roll-out` {
    private static let base = RolloutControl.MapID(revision: 41, digest: "sha256:base")
    private static let next = RolloutControl.MapID(revision: 42, digest: "sha256:next")

    private func control(
        _ state: RolloutControl.State = .running, below: UInt64 = .max, epoch: Int64 = 1, sequence: Int64 = 1,
        id: String = "r-7", _ change: (inout RolloutControl) -> Void = { _ in }
    ) -> RolloutControl {
        var control = RolloutControl(
            id: id, epoch: epoch, sequence: sequence, audience: "@lobby", at: 0, base: Self.base,
            next: Self.next, state: state, below: below)
        change(&control)
        return control
    }

    private func member(_ control: RolloutControl, at now: Int64 = 0) throws -> RolloutMember {
        var member = RolloutMember(agent: "k1")
        try take(control, &member, at: now)
        return member
    }

    @discardableResult
    private func take(
        _ control: RolloutControl, _ member: inout RolloutMember, at now: Int64 = 0
    ) throws -> RolloutMember.Taken {
        let digest = SHA256.label(SHA256.digest(of: control.encoded()))
        return try member.take(control, for: .group("lobby"), digest: digest, at: now)
    }

    private func choice(
        _ member: RolloutMember, base: RolloutControl.MapID? = base, candidate: String? = "sha256:next",
        isRefused: Bool = false, at now: Int64 = 0
    ) -> RolloutMember.Choice? {
        member.choice(base: base, candidate: candidate, isRefused: isRefused, at: now)
    }

    @Test(arguments: [
        (RolloutControl.State.running, true), (.paused, true), (.promoting, true), (.takingBack, false),
        (.takenBack, false), (.done, false), (.init(rawValue: "cooling"), false),
    ])
    func `the candidate is in force in some states only`(
        _ state: RolloutControl.State, _ isInForce: Bool
    ) throws {
        let found = choice(try member(control(state)))
        #expect(found?.isCandidateInForce == isInForce)
        #expect(found?.place == (isInForce ? .next : .base))
    }

    @Test func `without a control document there is nothing to report`() {
        #expect(choice(RolloutMember(agent: "k1")) == nil)
    }

    @Test func `an epoch that no controller comes to is refused, one step below it is taken`() throws {
        for (jump, isTaken) in [(RolloutControl.longestJump, true), (RolloutControl.longestJump + 1, false)] {
            var member = try member(control(epoch: 7))
            let next = control(epoch: 7 + jump)
            if isTaken {
                #expect(try take(next, &member) == .new)
            } else {
                let error = #expect(throws: Failure.self) { try take(next, &member) }
                #expect(error?.code == .badField && member.control?.epoch == 7)
            }
        }
        // The largest is read, and one above it is not.
        for (epoch, isRead) in [(RolloutControl.highest, true), (RolloutControl.highest + 1, false)] {
            let read = try? RolloutControl(control(epoch: epoch).encoded())
            #expect((read != nil) == isRead)
        }
    }

    @Test func `a document that voids exactly the order that was taken is taken, although it is lower`()
        throws
    {
        let raised = control(epoch: 900, sequence: 3)
        func reset(_ voids: [RolloutControl.Order], sequence: Int64 = 1) -> RolloutControl {
            control(epoch: 2, sequence: sequence) { $0.voids = voids }
        }
        var member = try member(raised)
        #expect(throws: Failure.self) { try take(reset([]), &member) }
        #expect(throws: Failure.self) { try take(reset([.init(epoch: 900, sequence: 4)]), &member) }
        #expect(try take(reset([raised.order], sequence: 2), &member) == .new)
        // From then on orders are as ever: what was voided may come again, and the one before may not.
        #expect(throws: Failure.self) { try take(reset([raised.order], sequence: 1), &member) }
        let read = try RolloutControl(reset([raised.order]).encoded())
        #expect(read.voids == [raised.order])
    }

    @Test func `its own number decides, include and exclude go before it`() throws {
        let number = RolloutHash.value(salt: "r-7", agent: "k1")
        let beside = try member(control(below: number))
        #expect(choice(beside)?.reason == .notChosen)
        let within = try member(control(below: number + 1))
        #expect(choice(within)?.place == .next)
        let named = try member(control(below: 0) { $0.include = ["k1"] })
        #expect(choice(named)?.place == .next)
        let both = try member(control { ($0.include, $0.exclude) = (["k1"], ["k1"]) })
        #expect(choice(both)?.reason == .excluded)
        // Another salt is another draw.
        let other = try member(control(below: number + 1) { $0.salt = "r-8" })
        let isChosen = RolloutHash.value(salt: "r-8", agent: "k1") < number + 1
        #expect(choice(other)?.place == (isChosen ? .next : .base))
    }

    @Test func `a candidate that is not there is asked for, and the base stays`() throws {
        let member = try member(control())
        for candidate in [nil, "sha256:other"] {
            let found = choice(member, candidate: candidate)
            #expect(found?.needsCandidate == true && found?.place == .base && found?.reason == .chosen)
        }
        #expect(choice(member)?.needsCandidate == false)
    }

    @Test func `another map than the base is in force: it drifted and asks for nothing`() throws {
        let member = try member(control())
        for base in [nil, RolloutControl.MapID(revision: 50, digest: "sha256:hand")] {
            let found = choice(member, base: base, candidate: nil)
            #expect(found?.reason == .drifted && found?.needsCandidate == false)
        }
        let first = try self.member(control { $0.base = nil })
        #expect(choice(first, base: nil)?.place == .next)
        #expect(choice(first)?.reason == .drifted)
    }

    @Test func `after the promotion the map is its own, whatever the state`() throws {
        for state in [RolloutControl.State.promoting, .done, .takenBack] {
            let found = choice(try member(control(state)), base: Self.next)
            #expect(found?.place == .next && found?.isCandidateInForce == false)
            #expect(found?.needsCandidate == false)
        }
    }

    @Test func `one that does not fit is refused`() throws {
        let member = try member(control())
        #expect(choice(member, isRefused: true)?.reason == .refused)
    }

    @Test func `an older document is refused: a controller that lost its lease changes nothing`() throws {
        var member = try member(control(epoch: 3, sequence: 5))
        for (epoch, sequence) in [(3, 4), (2, 99)] as [(Int64, Int64)] {
            let failure = #expect(throws: Failure.self) {
                try take(control(.takingBack, epoch: epoch, sequence: sequence), &member)
            }
            #expect(failure?.code == .rollback)
        }
        #expect(choice(member)?.place == .next)
        let taken = try take(control(.takingBack, epoch: 4, sequence: 1), &member)
        #expect(taken == .new)
        #expect(choice(member)?.place == .base)
    }

    @Test func `the same number with other content is refused, the same content is known`() throws {
        var member = try member(control(epoch: 3))
        let taken = try take(control(epoch: 3), &member)
        #expect(taken == .known)
        let failure = #expect(throws: Failure.self) { try take(control(below: 0, epoch: 3), &member) }
        #expect(failure?.code == .equivocation)
    }

    @Test func `epochs go on from one roll-out to the next: a stale one of an earlier id is refused`() throws
    {
        var member = try member(control(.done, epoch: 5, id: "r-8"))
        #expect(throws: Failure.self) { try take(control(epoch: 4, sequence: 9, id: "r-7"), &member) }
        #expect(member.control?.id == "r-8")
    }

    @Test func `a document for another group is refused`() throws {
        var member = RolloutMember(agent: "k1")
        #expect(throws: Failure(.badField, #"aud is "@shop", the topic is @lobby's"#)) {
            try take(control { $0.audience = "@shop" }, &member)
        }
    }

    @Test func `what is in force is reported, and not what is decided and not done yet`() throws {
        let candidate = MapRecord(
            layer: MapRecord.candidateKey(of: "@lobby"), revision: 42, revisionFloor: 0,
            digest: Array(repeating: 7, count: 32), applied: 0, expires: nil, entries: Array("[]".utf8))
        var layers = MapLayers(agent: "k1", groups: ["lobby"])
        layers.stored[candidate.layer] = candidate
        var members = RolloutMembers(agent: "k1")
        let revert = control {
            ($0.hold, $0.silent, $0.base) = (60_000, .revert, nil)
            $0.next.digest = SHA256.label(candidate.digest)
        }
        members.controlWasStored(revert, of: "@lobby", digest: "sha256:x", at: 0)
        func said(at now: Int64) -> [String] {
            members.reports(layers, at: now).map { "\($0.place) \($0.reason.rawValue)" }
        }
        #expect(said(at: 1) == ["base chosen"])
        layers.chosen = ["@lobby"]
        #expect(said(at: 1) == ["next chosen"])
        #expect(members.isSilent(layers, at: 60_001))
        #expect(said(at: 60_001) == ["next chosen"])
        layers.chosen = []
        #expect(said(at: 60_001) == ["base silent"])
    }

    @Test func `who hears nothing for too long goes back, when that is meant, and forward again`() throws {
        let revert = control {
            $0.hold = 60_000
            $0.silent = .revert
        }
        var member = try member(revert, at: 1_000)
        #expect(choice(member, at: 61_000)?.place == .next)
        #expect(choice(member, at: 61_001)?.reason == .silent)
        // The same document again is a sign of life.
        try take(revert, &member, at: 70_000)
        #expect(choice(member, at: 80_000)?.place == .next)
        let keep = try self.member(control { $0.hold = 60_000 }, at: 1_000)
        #expect(choice(keep, at: 900_000)?.place == .next)
    }

    @Test func `the guard trips at so many failures that are such a share, within the time`() throws {
        var member = try member(control { $0.limit = .init(failures: 5, share: 50, within: 60_000) })
        var trips = (0..<4).map { member.count(failing: true, at: $0 * 1_000) }
        // Good opens make the share less than a half.
        trips += (0..<6).map { _ in member.count(failing: false, at: 5_000) }
        trips.append(member.count(failing: true, at: 6_000))
        // A minute later they are forgotten.
        trips += (0..<4).map { member.count(failing: true, at: 90_000 + $0 * 1_000) }
        #expect(trips == Array(repeating: false, count: 15))
        let isTripped = member.count(failing: true, at: 95_000)
        #expect(isTripped)
        #expect(choice(member)?.reason == .guarded)
        #expect(member.opened == 16 && member.failed == 10)
    }

    @Test func `the guard holds for its roll-out, across a restart, and not for the next one`() throws {
        var member = try member(control { $0.limit = .init(failures: 1, share: 1, within: 60_000) })
        let isTripped = member.count(failing: true, at: 0)
        #expect(isTripped)
        var again = RolloutMember(agent: "k1")
        let stored = try #require(member.stored)
        again.restore(stored, at: 5)
        #expect(choice(again)?.reason == .guarded)
        // The fleet goes on: it is promoted.
        try take(control(.promoting, sequence: 2), &again)
        #expect(choice(again)?.reason == .guarded)
        let promoted = choice(again, base: Self.next)
        #expect(promoted?.place == .next && promoted?.reason == .promoted)
        try take(control(epoch: 2, id: "r-8"), &again)
        #expect(choice(again)?.place == .next)
        #expect(again.opened == 0)
    }

    @Test func `reports are delayed by the agent's own part of the spread`() {
        let control = control { $0.spread = 20_000 }
        let delays = (1...100).map { control.delay(of: "k\($0)") }
        #expect(delays.allSatisfy { (0..<20_000).contains($0) } && Set(delays).count > 90)
        #expect(self.control().delay(of: "k1") == 0)
    }
}
