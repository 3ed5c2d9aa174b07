import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

@Suite struct `Order in lanes` {
    private func job(
        _ sequence: Int64, lane: String = "main", sender: String = "ops", startBy: Int64 = 60_000
    ) -> CommandJob {
        CommandJob(
            sequence: sequence, sender: sender, address: ReplyAddress(topic: "r"),
            command: Command(id: "c\(sequence)", operation: .ping, expires: 0, lane: lane), startBy: startBy)
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
        #expect(queues.held(1, true, at: 100).log == ["run 2"])
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
        #expect(queues.admitted(job(1), at: 0).log == ["run 1"])
        #expect(queues.held(1, true, at: 400).log == [])
        #expect(queues.ticked(at: 600).log == ["accepted 1"])
        #expect(queues.ticked(at: 90_000).log == [])
        #expect(queues.held(1, false, at: 90_000).log == [])
        #expect(queues.ticked(at: 90_599).log == [])
        #expect(queues.ticked(at: 90_600).log.contains { $0.hasPrefix("end 1 DEADLINE") })
        // Twice held and never let go.
        #expect(queues.held(1, true, at: 90_700).log == [])
        #expect(queues.isIdle)
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
        queues.storingStart(1, at: 100)
        #expect(queues.ticked(at: 50_000).log == [])
        let mayRun = queues.startStored(1, at: 60_000)
        #expect(mayRun)
        #expect(queues.ticked(at: 60_399).log == [])
        #expect(queues.ticked(at: 60_400).log == ["accepted 1"])
        #expect(queues.ticked(at: 60_900).log == ["cancel 1", "end 1 DEADLINE"])
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
                command: Command(id: "c", operation: .ping, expires: 0), startBy: 60_000)
        }
        _ = queues.admitted(same(1, "ops"), at: 0)
        _ = queues.admitted(same(2, "ci"), at: 0)
        #expect(queues.cancel(id: "c", by: "me").0 == .foreign)
        #expect(queues.isCanceled(1) == false)
        let own = queues.cancel(id: "c", by: "ci")
        #expect(own.0 == .waiting && own.1.log == ["end 2 CANCELED"])
        #expect(queues.cancel(id: "c", by: "ops").0 == .running)
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
        let (waiting, ended) = queues.cancel(id: "c2", by: "ops")
        #expect(waiting == .waiting)
        #expect(ended.log == ["end 2 CANCELED"])
        let (running, asked) = queues.cancel(id: "c1", by: "ops")
        #expect(running == .running)
        #expect(asked.log == ["cancel 1"])
        #expect(queues.cancel(id: "c9", by: "ops").0 == .unknown)
    }

    @Test func `a command is cancelled by its own sender only`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1, sender: "ops"), at: 0)
        let (found, actions) = queues.cancel(id: "c1", by: "other")
        #expect(found == .foreign)
        #expect(actions.log == [])
    }

    @Test func `a command cancelled while its start is being stored never runs`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1), at: 0)
        queues.storingStart(1, at: 0)
        #expect(queues.cancel(id: "c1", by: "ops").1.log == ["cancel 1"])
        #expect(queues.isCanceled(1) != false)
        let mayRun = queues.startStored(1, at: 2)
        #expect(!mayRun)
    }

    @Test func `a command whose start could not be stored leaves without an end`() {
        var queues = LaneQueues()
        _ = queues.admitted(job(1), at: 0)
        queues.storingStart(1, at: 0)
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

    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func `every command ends exactly once, whatever the order of events`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queues = LaneQueues()
        var now: Int64 = 0
        var running: Set<Int64> = []
        var storing: Set<Int64> = []
        var ended: [Int64: Int] = [:]
        func act(_ actions: [LaneQueues.Action]) {
            for action in actions {
                switch action {
                case .run(let job):
                    if Bool.random(using: &random) {
                        queues.storingStart(job.sequence, at: now)
                        storing.insert(job.sequence)
                    } else {
                        running.insert(job.sequence)
                    }
                case .end(let command):
                    ended[command.job.sequence, default: 0] += 1
                    running.remove(command.job.sequence)
                    storing.remove(command.job.sequence)
                case .cancelTask, .sendAccepted: break
                }
            }
        }
        func startStored(_ sequence: Int64) {
            storing.remove(sequence)
            if queues.startStored(sequence, at: now) {
                running.insert(sequence)
            } else {
                act(queues.finished(sequence, .canceled, at: now))
            }
        }
        for sequence in Int64(1)...500 {
            now += Int64.random(in: 0...40, using: &random)
            let lane = "lane\(Int.random(in: 0...3, using: &random))"
            act(
                queues.admitted(
                    job(
                        sequence, lane: lane, startBy: now + Int64.random(in: 0...400, using: &random)),
                    at: now))
            if Bool.random(using: &random), let stored = storing.randomElement(using: &random) {
                startStored(stored)
            }
            if Bool.random(using: &random), let done = running.randomElement(using: &random) {
                act(queues.finished(done, .ok(), at: now))
            }
            if Int.random(in: 0...9, using: &random) == 0 {
                act(
                    queues.cancel(id: "c\(Int64.random(in: 1...sequence, using: &random))", by: "ops").1)
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

extension [LaneQueues.Action] {
    fileprivate var log: [String] {
        map { action in
            switch action {
            case .run(let job): "run \(job.sequence)"
            case .cancelTask(let sequence): "cancel \(sequence)"
            case .sendAccepted(let job): "accepted \(job.sequence)"
            case .end(let ended): "end \(ended.job.sequence) \(ended.result.code.name)"
            }
        }
    }
}
