import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

@Suite struct `Order in lanes` {
    private func job(
        _ sequence: Int64, lane: String = "main", sender: String = "ops", startBy: Int64 = 60_000,
        bytes: Int = 0
    ) -> CommandJob {
        let operation = Command.Operation.open(url: "a://b", parameters: [:])
        let command = Command(id: "c\(sequence)", operation: operation, expires: 0, lane: lane)
        return CommandJob(
            sequence: sequence, sender: sender, address: ReplyAddress(topic: "r"),
            header: CommandHeader(command), payload: Array(repeating: 0x20, count: bytes),
            .decoded(operation),
            startBy: startBy)
    }

    @Test func `commands of one lane run one after another in order of arrival`() {
        var queues = LaneQueues()
        #expect(queues.admitted(job(1), at: 0).log == ["run 1"])
        #expect(queues.admitted(job(2), at: 0).log == [])
        #expect(queues.admitted(job(3), at: 0).log == [])
        #expect(queues.finished(1, .ok(), at: 5).log == ["end 1 OK", "run 2"])
        #expect(queues.finished(2, .ok(), at: 6).log == ["end 2 OK", "run 3"])
        #expect(queues.finished(3, .ok(), at: 7).log == ["end 3 OK"])
        #expect(queues.isIdle)
    }

    @Test func `one that is held leaves its lane and goes on beside it`() {
        var queues = LaneQueues(deadline: 1_000)
        #expect(queues.admitted(job(1), at: 0).log == ["run 1"])
        #expect(queues.admitted(job(2), at: 0).log == [])
        #expect(queues.admitted(job(3), at: 0).log == [])
        // Its lane goes on once that is on disk.
        #expect(queues.held(1, true, at: 100).log == ["store held 1"])
        #expect(queues.heldCommitted(1, at: 101).log == ["run 2"])
        #expect(queues.held == [1])
        // What ends beside the lane frees no place in it, and what ends in it leads to the next.
        #expect(queues.held(1, false, at: 50_000).log == [])
        #expect(queues.finished(1, .ok(), at: 50_500).log == ["end 1 OK"])
        #expect(queues.finished(2, .ok(), at: 50_600).log == ["end 2 OK", "run 3"])
        #expect(queues.finished(3, .ok(), at: 50_700).log == ["end 3 OK"])
        #expect(queues.isIdle)
    }

    @Test func `the deadline of one that is held stands still, and then goes on`() {
        var queues = LaneQueues(deadline: 1_000)
        #expect(queues.admitted(job(1, startBy: 600_000), at: 0).log == ["run 1"])
        #expect(queues.held(1, true, at: 400).log == ["store held 1"])
        #expect(queues.heldCommitted(1, at: 401).log == [])
        #expect(queues.ticked(at: 600).log == ["accepted 1"])
        #expect(queues.ticked(at: 90_000).log == [])
        #expect(queues.held(1, false, at: 90_000).log == [])
        #expect(queues.ticked(at: 90_599).log == [])
        #expect(queues.ticked(at: 90_600).log.contains { $0.hasPrefix("end 1 DEADLINE") })
        // Twice held and never let go.
        #expect(queues.held(1, true, at: 90_700).log == [])
        #expect(queues.isIdle)
    }

    @Test func `one that goes on before that is on disk keeps its lane`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1), at: 0)
        _ = queues.admitted(job(2), at: 0)
        #expect(queues.held(1, true, at: 1).log == ["store held 1"])
        #expect(queues.held(1, false, at: 2).log == [])
        #expect(queues.heldCommitted(1, at: 3).log == [])
        #expect(queues.finished(1, .ok(), at: 4).log == ["end 1 OK", "run 2"])
    }

    @Test func `that one goes on is on disk before its handler begins, idempotent or not`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1), at: 0)
        #expect(queues.begin(1, isIdempotent: true, at: 1) == "begin")
        #expect(queues.held(1, true, at: 1).log == ["store held 1"])
        #expect(queues.held(1, false, at: 2).log == [])
        #expect(queues.begin(1, isIdempotent: true, at: 3) == "store resumed")
        #expect(queues.stepCommitted(1, at: 4) == nil)
        #expect(queues.begin(1, isIdempotent: false, at: 5) == "store started(attempt: 1)")
    }

    @Test func `one whose exp passes while it is held does not run`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1, startBy: 1_000), at: 0)
        _ = queues.held(1, true, at: 1)
        _ = queues.heldCommitted(1, at: 1)
        // It stays as long as the gate is closed, and is looked at once more when it opens.
        #expect(queues.ticked(at: 1_500).log == ["accepted 1"])
        #expect(queues.held(1, false, at: 1_500).log == ["end 1 EXPIRED"])
        #expect(queues.begin(1, isIdempotent: true, at: 1_500) == "ended []")
    }

    @Test func `one whose exp passes before its handler begins does not run`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1, startBy: 1_000), at: 0)
        _ = queues.admitted(job(2), at: 0)
        #expect(queues.begin(1, isIdempotent: false, at: 999) == "store started(attempt: 1)")
        #expect(queues.stepCommitted(1, at: 1_000)?.log == ["end 1 EXPIRED", "run 2"])
        _ = queues.admitted(job(3, lane: "other", startBy: 2_000), at: 1_000)
        #expect(queues.begin(3, isIdempotent: true, at: 2_000) == "ended [\"end 3 EXPIRED\"]")
    }

    @Test func `a lane that hangs does not hold up another`() {
        var queues = LaneQueues()
        #expect(queues.admitted(job(1, lane: "slow"), at: 0).log == ["run 1"])
        #expect(queues.admitted(job(2, lane: "quick"), at: 0).log == ["run 2"])
        #expect(queues.finished(2, .ok(), at: 1).log == ["end 2 OK"])
        #expect(queues.count == 1)
    }

    @Test func `the time for which a start is being stored counts neither as running nor as late`() {
        var queues = LaneQueues(deadline: 1_000)
        _ = queues.admitted(job(1), at: 0)
        #expect(queues.begin(1, isIdempotent: false, at: 100) == "store started(attempt: 1)")
        #expect(queues.ticked(at: 50_000).log == [])
        #expect(queues.stepCommitted(1, at: 59_000) == nil)
        #expect(queues.ticked(at: 59_399).log == [])
        #expect(queues.ticked(at: 59_400).log == ["accepted 1"])
        #expect(queues.ticked(at: 59_900).log == ["cancel 1", "end 1 DEADLINE"])
    }

    @Test func `a command that has ended at its deadline may not begin after that`() {
        var queues = LaneQueues(deadline: 1_000)
        _ = queues.admitted(job(1), at: 0)
        #expect(queues.isCanceled(1) == false)
        _ = queues.ticked(at: 1_000)
        #expect(queues.isCanceled(1) != false)
    }

    @Test func `a command that was not started before its exp is not run`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1), at: 0)
        _ = queues.admitted(job(2, startBy: 50), at: 0)
        #expect(queues.finished(1, .ok(), at: 50).log == ["end 1 OK", "end 2 EXPIRED"])
        #expect(queues.isIdle)
    }

    @Test func `a command that waits too long is ended though its lane is still busy`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1), at: 0)
        _ = queues.admitted(job(2, startBy: 50), at: 0)
        _ = queues.admitted(job(3, startBy: 500_000), at: 0)
        #expect(queues.ticked(at: 49).log == [])
        #expect(queues.ticked(at: 50).log == ["end 2 EXPIRED"])
        #expect(queues.finished(1, .ok(), at: 60).log == ["end 1 OK", "run 3"])
    }

    @Test func `a command whose exp is now is not started, and one whose deadline is now is ended`() {
        var queues = LaneQueues(deadline: 1_000)
        #expect(queues.admitted(job(1, startBy: 50), at: 50).log == ["end 1 EXPIRED"])
        #expect(queues.admitted(job(2, startBy: 51), at: 50).log == ["run 2"])
        #expect(queues.ticked(at: 1_049).log == ["accepted 2"])
        #expect(queues.ticked(at: 1_050).log == ["cancel 2", "end 2 DEADLINE"])
    }

    @Test func `a sender cancels its own commands and no other's, though they have one id`() {
        var queues = LaneQueues()
        func same(_ sequence: Int64, _ sender: String) -> CommandJob {
            CommandJob(
                sequence: sequence, sender: sender, address: ReplyAddress(topic: "r"),
                header: CommandHeader(id: "c", expires: 0), .encoded, startBy: 60_000)
        }
        _ = queues.admitted(same(1, "ops"), at: 0)
        _ = queues.admitted(same(2, "ci"), at: 0)
        #expect(queues.cancel(id: "c", by: "me", at: 0).0 == .foreign)
        #expect(queues.isCanceled(1) == false)
        let own = queues.cancel(id: "c", by: "ci", at: 0)
        #expect(own.0 == .waiting && own.1.log == ["end 2 CANCELED"])
        #expect(queues.cancel(id: "c", by: "ops", at: 0).0 == .running)
    }

    @Test func `work over half a second is announced once`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1), at: 0)
        #expect(queues.ticked(at: 499).log == [])
        #expect(queues.ticked(at: 500).log == ["accepted 1"])
        #expect(queues.ticked(at: 600).log == [])
    }

    @Test func `a handler that does not end loses its lane at the deadline`() {
        var queues = LaneQueues(deadline: 1_000)
        _ = queues.admitted(job(1), at: 0)
        _ = queues.admitted(job(2), at: 0)
        #expect(queues.ticked(at: 500).log == ["accepted 1"])
        #expect(queues.ticked(at: 999).log == [])
        #expect(queues.ticked(at: 1_000).log == ["cancel 1", "end 1 DEADLINE", "run 2"])
        // What it answers after that is dropped.
        #expect(queues.finished(1, .ok(), at: 1_100).log == [])
        #expect(queues.finished(2, .ok(), at: 1_100).log == ["end 2 OK"])
    }

    @Test func `cancelling a command that waits ends it, one that runs is asked to end`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1), at: 0)
        _ = queues.admitted(job(2), at: 0)
        let (waiting, ended) = queues.cancel(id: "c2", by: "ops", at: 0)
        #expect(waiting == .waiting)
        #expect(ended.log == ["end 2 CANCELED"])
        let (running, asked) = queues.cancel(id: "c1", by: "ops", at: 0)
        #expect(running == .running)
        #expect(asked.log == ["cancel 1"])
        #expect(queues.cancel(id: "c9", by: "ops", at: 0).0 == .unknown)
    }

    /// How far a command has come when it is canceled.
    enum Stage: CaseIterable {
        case running, startIsStored, started, holdIsStored, held, goesOn
    }

    @Test(arguments: Stage.allCases)
    func `a lane goes on behind a command that was canceled, however far it had come`(_ stage: Stage) {
        var queues = LaneQueues()
        #expect(queues.admitted(job(1), at: 0).log == ["run 1"])
        #expect(queues.admitted(job(2), at: 0).log == [])
        if stage != .running {
            _ = queues.begin(1, isIdempotent: false, at: 0)
            if stage != .startIsStored { _ = queues.stepCommitted(1, at: 1) }
        }
        var log: [String] = []
        if stage == .holdIsStored || stage == .held || stage == .goesOn {
            log += queues.held(1, true, at: 2).log
            if stage != .holdIsStored { log += queues.heldCommitted(1, at: 3).log }
            if stage == .goesOn { log += queues.held(1, false, at: 4).log }
        }
        log += queues.cancel(id: "c1", by: "ops", at: 5).1.log
        if stage == .startIsStored { log += queues.stepCommitted(1, at: 6)?.log ?? [] }
        log += queues.finished(1, CommandResult(code: .canceled, detail: "canceled"), at: 7).log
        if stage == .holdIsStored { log += queues.heldCommitted(1, at: 8).log }
        #expect(log.filter { $0 == "run 2" }.count == 1, "\(log)")
        #expect(queues.finished(2, .ok(), at: 9).log == ["end 2 OK"])
        #expect(queues.isIdle)
    }

    @Test func `a command is cancelled by its own sender only`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1, sender: "ops"), at: 0)
        let (found, actions) = queues.cancel(id: "c1", by: "other", at: 0)
        #expect(found == .foreign)
        #expect(actions.log == [])
    }

    @Test func `a command cancelled while its start is being stored never runs`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1), at: 0)
        _ = queues.begin(1, isIdempotent: false, at: 0)
        #expect(queues.cancel(id: "c1", by: "ops", at: 0).1.log == ["cancel 1"])
        #expect(queues.isCanceled(1) != false)
        #expect(queues.stepCommitted(1, at: 2)?.log == [])
    }

    @Test func `a command whose start could not be stored leaves without an end`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1), at: 0)
        _ = queues.begin(1, isIdempotent: false, at: 0)
        queues.stopped()
        queues.leftOnDisk(1)
        #expect(queues.isIdle)
        #expect(queues.finished(1, .ok(), at: 1).log == [])
    }

    @Test func `what waits when the agent stops stays for the next start`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1), at: 0)
        _ = queues.admitted(job(2), at: 0)
        queues.stopped()
        #expect(queues.finished(1, .ok(), at: 1).log == ["end 1 OK"])
        #expect(queues.isIdle)
    }

    @Test func `a little of what waits stays decoded, and what is let go of makes space again`() {
        let space = DecodedSpace()
        var leases = [space.lease(DecodedSpace.limit - 10), space.lease(10), space.lease(1)]
        #expect(leases.map { $0 != nil } == [true, true, false])
        leases = []
        #expect(space.lease(DecodedSpace.limit) != nil)
    }

    @Test func `what finds no space waits for it in its lane, and in order of arrival`() {
        var queues = LaneQueues(runningBytes: 100_000, share: 50)
        #expect(queues.admitted(job(1, lane: "a", bytes: 40_000), at: 0).log == ["run 1"])
        #expect(queues.admitted(job(2, lane: "b", bytes: 40_000), at: 0).log == [])
        #expect(queues.admitted(job(3, lane: "b", bytes: 10), at: 0).log == [])
        // Behind the one that waits, though it would fit.
        #expect(queues.admitted(job(4, lane: "c", bytes: 10), at: 0).log == [])
        // Another sender has a share of its own, and a small one space in any case.
        #expect(queues.admitted(job(5, lane: "d", sender: "two", bytes: 50_000), at: 0).log == ["run 5"])
        #expect(queues.admitted(job(6, lane: "e", sender: "three", bytes: 20_000), at: 0).log == [])
        #expect(queues.admitted(job(7, lane: "f", sender: "four", bytes: 500), at: 0).log == ["run 7"])
        #expect(queues.finished(1, .ok(), at: 1).log == ["end 1 OK", "run 2", "run 4"])
        #expect(queues.finished(2, .ok(), at: 2).log == ["end 2 OK", "run 3", "run 6"])
        for sequence in [3, 4, 5, 6, 7] as [Int64] { _ = queues.finished(sequence, .ok(), at: 3) }
        #expect(queues.isIdle)
    }

    @Test func `what is held has half of the space of its sender, and all that runs the rest`() {
        var queues = LaneQueues(runningBytes: 100_000, share: 40)
        func hold(_ sequence: Int64, _ sender: String = "ops", bytes: Int) -> [String] {
            let begun = queues.admitted(job(sequence, sender: sender, bytes: bytes), at: 0).log
            #expect(begun == ["run \(sequence)"])
            let actions = queues.held(sequence, true, at: 1).log
            return actions + queues.heldCommitted(sequence, at: 2).log
        }
        #expect(hold(1, bytes: 15_000) == ["store held 1"])
        #expect(hold(2, bytes: 6_000) == ["end 2 BUSY"])
        #expect(hold(3, bytes: 5_000) == ["store held 3"])
        // Its sender's others run, the first however large, and the next as soon as that has ended.
        #expect(queues.admitted(job(4, lane: "a", bytes: 30_000), at: 3).log == ["run 4"])
        #expect(queues.admitted(job(5, lane: "b", bytes: 100), at: 3).log == [])
        #expect(queues.finished(4, .ok(), at: 4).log == ["end 4 OK", "run 5"])
        #expect(queues.finished(5, .ok(), at: 5).log == ["end 5 OK"])
        // Half of all is for those of all senders, and a little more for a small one of another.
        #expect(hold(6, "two", bytes: 20_000) == ["store held 6"])
        #expect(hold(7, "three", bytes: 15_000) == ["end 7 BUSY"])
        #expect(hold(8, "three", bytes: 10_000) == ["store held 8"])
        #expect(hold(9, "four", bytes: 1_000) == ["store held 9"])
        // One that goes on makes space for another.
        #expect(queues.held(1, false, at: 6).log == [])
        #expect(queues.finished(1, .ok(), at: 7).log == ["end 1 OK"])
        #expect(hold(10, bytes: 14_000) == ["store held 10"])
        for sequence in [3, 6, 8, 9, 10] as [Int64] { _ = queues.finished(sequence, .canceled, at: 8) }
        #expect(queues.isIdle)
    }

    @Test func `one that begins to wait makes space for what waits for its turn`() {
        var queues = LaneQueues(runningBytes: 1_000_000, share: 10)
        _ = queues.admitted(job(1, lane: "a", bytes: 40_000), at: 0)
        #expect(queues.admitted(job(2, lane: "b", bytes: 70_000), at: 0).log == [])
        #expect(queues.held(1, true, at: 1).log == ["store held 1", "run 2"])
    }

    @Test func `one that waits for space can be canceled, and expires`() {
        var queues = LaneQueues(runningBytes: 1_000)
        _ = queues.admitted(job(1, lane: "a", bytes: 900), at: 0)
        _ = queues.admitted(job(2, lane: "b", startBy: 50, bytes: 900), at: 0)
        _ = queues.admitted(job(3, lane: "b", bytes: 900), at: 0)
        _ = queues.admitted(job(4, lane: "c", bytes: 900), at: 0)
        #expect(queues.ticked(at: 50).log == ["end 2 EXPIRED"])
        #expect(queues.cancel(id: "c3", by: "ops", at: 51).1.log == ["end 3 CANCELED"])
        #expect(queues.cancel(id: "c4", by: "other", at: 51).0 == .foreign)
        #expect(queues.finished(1, .ok(), at: 60).log == ["end 1 OK", "run 4"])
        #expect(queues.finished(4, .ok(), at: 61).log == ["end 4 OK"])
        #expect(queues.isIdle)
    }

    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func `every command ends exactly once, whatever the order of events`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queues = LaneQueues(runningBytes: 2_000, share: 50)
        var now: Int64 = 0
        var running: Set<Int64> = []
        var storing: Set<Int64> = []
        var ended: [Int64: Int] = [:]
        func act(_ actions: [LaneQueues.Action]) {
            for action in actions {
                switch action {
                case .run(let job):
                    if Bool.random(using: &random) {
                        switch queues.handlerBegins(job.sequence, isIdempotent: false, at: now) {
                        case .begin: Issue.record("a start was not stored, seed \(seed)")
                        case .commit: storing.insert(job.sequence)
                        case .ended(let actions): act(actions)
                        }
                    } else {
                        running.insert(job.sequence)
                    }
                case .end(let command):
                    ended[command.job.sequence, default: 0] += 1
                    running.remove(command.job.sequence)
                    storing.remove(command.job.sequence)
                case .cancelTask, .sendAccepted, .sendProgress, .commitHeld, .commitEnd, .commitDue,
                    .commitPutOff:
                    break
                }
            }
        }
        func startStored(_ sequence: Int64) {
            storing.remove(sequence)
            if let actions = queues.stepCommitted(sequence, at: now) {
                act(actions)
                act(queues.finished(sequence, .canceled, at: now))
            } else {
                running.insert(sequence)
            }
        }
        for sequence in Int64(1)...500 {
            now += Int64.random(in: 0...40, using: &random)
            let lane = "lane\(Int.random(in: 0...3, using: &random))"
            act(
                queues.admitted(
                    job(
                        sequence, lane: lane, sender: Bool.random(using: &random) ? "ops" : "other",
                        startBy: now + Int64.random(in: 0...400, using: &random),
                        bytes: Int.random(in: 0...1_500, using: &random)),
                    at: now))
            if Bool.random(using: &random), let stored = storing.randomElement(using: &random) {
                startStored(stored)
            }
            if Bool.random(using: &random), let done = running.randomElement(using: &random) {
                act(queues.finished(done, .ok(), at: now))
            }
            if Int.random(in: 0...9, using: &random) == 0 {
                act(
                    queues.cancel(id: "c\(Int64.random(in: 1...sequence, using: &random))", by: "ops", at: 0)
                        .1)
            }
            act(queues.ticked(at: now))
        }
        while !queues.isIdle {
            now += 1_000
            for stored in storing { startStored(stored) }
            for done in running { act(queues.finished(done, .ok(), at: now)) }
            act(queues.ticked(at: now))
        }
        #expect(ended.count == 500, "seed \(seed)")
        #expect(ended.values.allSatisfy { $0 == 1 }, "seed \(seed)")
    }
}

extension LaneQueues {
    /// What a handler that is about to begin has to do.
    fileprivate mutating func begin(_ sequence: Int64, isIdempotent: Bool, at now: Int64) -> String {
        switch handlerBegins(sequence, isIdempotent: isIdempotent, at: now) {
        case .begin: "begin"
        case .commit(let step): "store \(step)"
        case .ended(let actions): "ended \(actions.log)"
        }
    }
}

extension [LaneQueues.Action] {
    fileprivate var log: [String] {
        map { action in
            switch action {
            case .run(let job): "run \(job.sequence)"
            case .commitHeld(let job): "store held \(job.sequence)"
            case .commitEnd(let job): "store end \(job.sequence)"
            case .commitDue(let jobs): "store due \(jobs.map(\.sequence))"
            case .commitPutOff(let job): "store scheduled \(job.sequence)"
            case .cancelTask(let sequence): "cancel \(sequence)"
            case .sendAccepted(let job): "accepted \(job.sequence)"
            case .sendProgress(let job, _): "progress \(job.sequence)"
            case .end(let ended): "end \(ended.job.sequence) \(ended.result.code.name)"
            }
        }
    }
}
