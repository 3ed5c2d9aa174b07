import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

@Suite struct `Order in lanes` {
    private func work(
        _ sequence: Int64, lane: String = "main", sender: String = "ops", startBy: Int64 = 60_000,
        isIdempotent: Bool = true
    ) -> Work {
        Work(
            sequence: sequence, sender: sender, address: ReplyAddress(topic: "r"),
            command: Command(id: "c\(sequence)", operation: .ping, expires: 0, lane: lane), startBy: startBy,
            attempts: 0, isIdempotent: isIdempotent)
    }

    @Test func `commands of one lane run one after another in order of arrival`() {
        var lanes = Lanes()
        #expect(lanes.admitted(work(1), at: 0).log == ["run 1"])
        #expect(lanes.admitted(work(2), at: 0).log == [])
        #expect(lanes.admitted(work(3), at: 0).log == [])
        #expect(lanes.finished(1, .ok(), at: 5).log == ["end 1 OK", "run 2"])
        #expect(lanes.finished(2, .ok(), at: 6).log == ["end 2 OK", "run 3"])
        #expect(lanes.finished(3, .ok(), at: 7).log == ["end 3 OK"])
        #expect(lanes.isIdle)
    }

    @Test func `a lane that hangs does not hold up another`() {
        var lanes = Lanes()
        #expect(lanes.admitted(work(1, lane: "slow"), at: 0).log == ["run 1"])
        #expect(lanes.admitted(work(2, lane: "quick"), at: 0).log == ["run 2"])
        #expect(lanes.finished(2, .ok(), at: 1).log == ["end 2 OK"])
        #expect(lanes.count == 1)
    }

    @Test func `an operation that may not run twice waits until STARTED is on disk`() {
        var lanes = Lanes()
        #expect(lanes.admitted(work(1, isIdempotent: false), at: 0).log == ["store 1"])
        #expect(lanes.startStored(1, at: 3).log == ["run 1"])
        #expect(lanes.finished(1, .ok(), at: 9).log == ["end 1 OK"])
    }

    @Test func `a command that was not started before its exp is not run`() {
        var lanes = Lanes()
        _ = lanes.admitted(work(1), at: 0)
        _ = lanes.admitted(work(2, startBy: 50), at: 0)
        #expect(lanes.finished(1, .ok(), at: 50).log == ["end 1 OK", "end 2 EXPIRED"])
        #expect(lanes.isIdle)
    }

    @Test func `a command that waits too long is ended though its lane is still busy`() {
        var lanes = Lanes()
        _ = lanes.admitted(work(1), at: 0)
        _ = lanes.admitted(work(2, startBy: 50), at: 0)
        _ = lanes.admitted(work(3, startBy: 500_000), at: 0)
        #expect(lanes.ticked(at: 49).log == [])
        #expect(lanes.ticked(at: 50).log == ["end 2 EXPIRED"])
        #expect(lanes.finished(1, .ok(), at: 60).log == ["end 1 OK", "run 3"])
    }

    @Test func `work over half a second is announced once`() {
        var lanes = Lanes()
        _ = lanes.admitted(work(1), at: 0)
        #expect(lanes.ticked(at: 499).log == [])
        #expect(lanes.ticked(at: 500).log == ["accepted 1"])
        #expect(lanes.ticked(at: 600).log == [])
    }

    @Test func `a handler that does not end loses its lane at the deadline`() {
        var lanes = Lanes(deadline: 1_000)
        _ = lanes.admitted(work(1), at: 0)
        _ = lanes.admitted(work(2), at: 0)
        #expect(lanes.ticked(at: 500).log == ["accepted 1"])
        #expect(lanes.ticked(at: 999).log == [])
        #expect(lanes.ticked(at: 1_000).log == ["cancel 1", "end 1 DEADLINE", "run 2"])
        // What it answers after all is not heard.
        #expect(lanes.finished(1, .ok(), at: 1_100).log == [])
        #expect(lanes.finished(2, .ok(), at: 1_100).log == ["end 2 OK"])
    }

    @Test func `cancelling a command that waits ends it, one that runs is asked to end`() {
        var lanes = Lanes()
        _ = lanes.admitted(work(1), at: 0)
        _ = lanes.admitted(work(2), at: 0)
        let (waiting, ended) = lanes.cancel(id: "c2", by: "ops", at: 1)
        #expect(waiting == .waiting)
        #expect(ended.log == ["end 2 CANCELED"])
        let (running, asked) = lanes.cancel(id: "c1", by: "ops", at: 1)
        #expect(running == .running)
        #expect(asked.log == ["cancel 1"])
        #expect(lanes.cancel(id: "c9", by: "ops", at: 1).0 == .unknown)
    }

    @Test func `a command is cancelled by its own sender only`() {
        var lanes = Lanes()
        _ = lanes.admitted(work(1, sender: "ops"), at: 0)
        let (found, actions) = lanes.cancel(id: "c1", by: "stranger", at: 1)
        #expect(found == .foreign)
        #expect(actions.log == [])
    }

    @Test func `a command cancelled while STARTED is being stored never runs`() {
        var lanes = Lanes()
        _ = lanes.admitted(work(1, isIdempotent: false), at: 0)
        #expect(lanes.cancel(id: "c1", by: "ops", at: 1).1.log == [])
        #expect(lanes.startStored(1, at: 2).log == ["end 1 CANCELED"])
    }

    @Test func `what waits when the agent stops stays for the next start`() {
        var lanes = Lanes()
        _ = lanes.admitted(work(1), at: 0)
        _ = lanes.admitted(work(2), at: 0)
        #expect(lanes.stopped() == 1)
        #expect(lanes.finished(1, .ok(), at: 1).log == ["end 1 OK"])
        #expect(lanes.isIdle)
    }

    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func `every command ends exactly once, whatever the order of events`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var lanes = Lanes()
        var now: Int64 = 0
        var running: Set<Int64> = []
        var storing: Set<Int64> = []
        var ended: [Int64: Int] = [:]
        func act(_ actions: [Lanes.Action]) {
            for action in actions {
                switch action {
                case .storeStart(let work): storing.insert(work.sequence)
                case .run(let work): running.insert(work.sequence)
                case .end(let work, _, _):
                    ended[work.sequence, default: 0] += 1
                    running.remove(work.sequence)
                case .cancelTask, .sendAccepted: break
                }
            }
        }
        for sequence in Int64(1)...500 {
            now += Int64.random(in: 0...40, using: &random)
            let lane = "lane\(Int.random(in: 0...3, using: &random))"
            act(
                lanes.admitted(
                    work(
                        sequence, lane: lane, startBy: now + Int64.random(in: 0...400, using: &random),
                        isIdempotent: Bool.random(using: &random)), at: now))
            if Bool.random(using: &random), let stored = storing.randomElement(using: &random) {
                storing.remove(stored)
                act(lanes.startStored(stored, at: now))
            }
            if Bool.random(using: &random), let done = running.randomElement(using: &random) {
                act(lanes.finished(done, .ok(), at: now))
            }
            if Int.random(in: 0...9, using: &random) == 0 {
                act(
                    lanes.cancel(id: "c\(Int64.random(in: 1...sequence, using: &random))", by: "ops", at: now)
                        .1)
            }
            act(lanes.ticked(at: now))
        }
        while !lanes.isIdle {
            now += 1_000
            for stored in storing { act(lanes.startStored(stored, at: now)) }
            storing = []
            for done in running { act(lanes.finished(done, .ok(), at: now)) }
            act(lanes.ticked(at: now))
        }
        #expect(ended.count == 500, "seed \(seed)")
        #expect(ended.values.allSatisfy { $0 == 1 }, "seed \(seed)")
    }
}

extension [Lanes.Action] {
    fileprivate var log: [String] {
        map { action in
            switch action {
            case .storeStart(let work): "store \(work.sequence)"
            case .run(let work): "run \(work.sequence)"
            case .cancelTask(let sequence): "cancel \(sequence)"
            case .sendAccepted(let work): "accepted \(work.sequence)"
            case .end(let work, let verdict, _): "end \(work.sequence) \(verdict.code.name)"
            }
        }
    }
}
