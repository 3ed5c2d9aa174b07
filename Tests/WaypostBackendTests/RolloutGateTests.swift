import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// Evidence in, verdicts out.
@Suite struct RolloutGateTests {
    private func comparison(_ x: Int, _ t1: Double, _ y: Int, _ t0: Double) -> FailureComparison {
        var comparison = FailureComparison()
        comparison.cohort = (events: x, exposure: t1)
        comparison.control = (events: y, exposure: t0)
        return comparison
    }

    @Test func `with nothing to compare the e-value is 1`() {
        #expect(comparison(5, 10, 0, 0).value == 1 && !comparison(5, 10, 0, 0).isConclusive)
        #expect(comparison(0, 10, 0, 90).value == 1)
    }

    @Test func `equal rates speak for themselves, and five times as many soon against it`() {
        #expect(comparison(10, 10, 90, 90).value < 1)
        // 5 % of the agents with 5 times the failures: found after a few.
        #expect(comparison(12, 5, 38, 95).value > 1_000)
        #expect(comparison(2, 5, 38, 95).value < 10)
        // Far beyond the range of numbers it stays a number.
        #expect(comparison(5_000, 5, 100, 95).value.isFinite)
    }

    @Test func `a five-fold worsening at a share of 5 % is found within two minutes`() {
        // 500 agents of 10 000, 0.1 failures a minute each, five times as many under the candidate.
        var chance = SeededGenerator(seed: 3)
        var found: [Double] = []
        for _ in 0..<20 {
            var (x, y, seconds) = (0, 0, 0.0)
            while comparison(x, 500 * seconds, y, 9_500 * seconds).value < 1_000, seconds < 600 {
                seconds += 1
                x += Self.events(500 * 0.5 / 60, &chance)
                y += Self.events(9_500 * 0.1 / 60, &chance)
            }
            found.append(seconds)
        }
        found.sort()
        #expect(found[10] < 30, "the median is \(found[10]) s")
        #expect(found[19] < 120, "the worst is \(found[19]) s")
    }

    @Test func `looked at after each event, it raises hardly a false alarm`() {
        var chance = SeededGenerator(seed: 11)
        var alarms = 0
        for _ in 0..<4_000 {
            var (x, y) = (0, 0)
            for _ in 0..<200 {
                if Double.random(in: 0..<1, using: &chance) < 0.05 { x += 1 } else { y += 1 }
                if comparison(x, 5, y, 95).value >= 1_000 {
                    alarms += 1
                    break
                }
            }
        }
        #expect(alarms <= 3, "\(alarms) of 4000")
    }

    /// How many events, at so many on average (Knuth).
    private static func events(_ mean: Double, _ chance: inout SeededGenerator) -> Int {
        var (left, count) = (mean, 0)
        while left > 0 {
            let part = min(left, 0.1)
            if Double.random(in: 0..<1, using: &chance) < part { count += 1 }
            left -= part
        }
        return count
    }

    @Test func `an audit that is changed, cut or doubled is found`() throws {
        var trail = RolloutTrail()
        let control = RolloutControl(
            id: "r-7", epoch: 1, sequence: 1, audience: "@lobby", at: 0, base: nil,
            next: .init(revision: 42, digest: "sha256:x"))
        let entries = (1...5).map { number in
            trail.append("stage", of: control, by: "ops", why: "\(number)", evidence: nil, at: 7).encoded()
        }
        #expect(RolloutHistory(entries.shuffled()).isWhole)
        #expect(RolloutHistory(entries).entries.map(\.number) == [1, 2, 3, 4, 5])
        // The ring has forgotten the first ones.
        #expect(RolloutHistory(Array(entries.dropFirst(2))).isWhole)
        #expect(
            RolloutHistory(entries.enumerated().filter { $0.offset != 2 }.map(\.element)).faults.count == 1)
        var changed = try RolloutAudit(JSONValue(parsing: entries[2]))
        changed.why = "it was somebody else"
        var forged = entries
        forged[2] = changed.encoded()
        #expect(RolloutHistory(forged).faults == ["entry 4 does not follow entry 3"])
        #expect(!RolloutHistory(entries + [changed.encoded()]).isWhole)
        #expect(!RolloutHistory([Array("{".utf8)]).isWhole)
        // Another controller goes on with the chain.
        var next = RolloutTrail()
        for entry in entries.reversed() { next.saw(entry) }
        let sixth = next.append("resume", of: control, by: "ops2", why: nil, evidence: nil, at: 8).encoded()
        #expect(RolloutHistory(entries + [sixth]).isWhole)
    }

    @Test func `a status is read as it was written`() throws {
        var status = RolloutStatus(id: "r-7", group: "lobby", state: "running")
        status.base = 41
        status.next = 42
        status.stages = [.init(name: "5", agents: 5), .init(name: "100%")]
        status.notOnNext = ["refused": 2]
        status.missing = ["refused": ["k1", "k2"]]
        status.remaining = 5_000
        status.gates = [
            .init(name: "opens", verdict: .breach, found: "9 of 10", limit: "5 %", consequence: .takeBack)
        ]
        #expect(try RolloutStatus(status.json) == status)
    }
}
