import CWorld
import Foundation
import Glibc
import World

let usage = """
    usage: WorldProgram \(HistoryKind.names) SEED [--lives N] [--deeds N] [--without PART,…] [--notes | --shrink]
           WorldProgram KIND,… --seconds N [--width N]
           WorldProgram --seeds FILE

    """
// Runs one history of a world and prints what came of it, makes a smaller one that breaks the same law, or runs new seeds
// for a while. Status 0 when all held what they must, 1 when not, 64 for what it does not know, 130 after an interrupt.

func refuse(_ text: String) -> Never {
    FileHandle.standardError.write(Data("WorldProgram: \(text)\n\(usage)".utf8))
    exit(64)
}

// Sets and dictionaries have the same order in each process then.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    var pointers = CommandLine.arguments.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &pointers)
    refuse("execv: errno \(errno)")
}
world_notice_interrupts()
var words = Array(CommandLine.arguments.dropFirst())

/// How to have it again.
func command(_ plan: HistoryPlan, _ more: String...) -> String {
    let kind = plan.kind == .crashes ? [] : ["--kind \(plan.kind)"]
    return (["scripts/world --seed \(plan.seed)"] + kind + plan.options + more).joined(separator: " ")
}

func number(_ text: String, _ option: String, _ range: ClosedRange<Int>) -> Int {
    guard let number = Int(text), range.contains(number) else {
        refuse("\(option) is \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }
    return number
}

/// Runs histories until there is none, with a table of what met which state.
func runAll(
    _ width: Int, _ kinds: [HistoryKind], next: (_ seconds: [HistoryKind: Double]) -> HistoryPlan?
) -> Never {
    var (count, failed, milliseconds) = (0, 0, 0 as UInt64)
    var seconds: [HistoryKind: Double] = [:]
    var met: [String: Int] = [:]
    HistoryRunner().run(width: width, next: { world_is_interrupted() != 0 ? nil : next(seconds) }) {
        plan, report in
        count += 1
        milliseconds += report.milliseconds * report.agents
        seconds[plan.kind, default: 0] += report.seconds
        met.merge(report.met, uniquingKeysWith: +)
        guard !report.isGood else { return }
        failed += 1
        print(report.text, "again: \(command(plan, "--notes")), or --shrink", separator: "\n")
        fflush(nil)
    }
    for meeting in met.sorted(by: { $0.key < $1.key }) { print("\(meeting.key): \(meeting.value)") }
    let never = Set(kinds.flatMap(HistoryPart.meetings)).filter { met[$0] == nil }.sorted()
    if !never.isEmpty { print("never: \(never.joined(separator: ", "))") }
    let hours = String(format: "%.1f", Double(milliseconds) / 3_600_000)
    let all = Int(seconds.values.reduce(0, +))
    print(
        "\(count) histories, \(failed) of them with a finding; \(hours) agent-hours in \(all) processor seconds"
    )
    exit(world_is_interrupted() != 0 ? 130 : failed == 0 ? 0 : 1)
}

if words.count == 2, words[0] == "--seeds" {
    do {
        var plans = try KnownSeed.read(words[1]).reversed() as [HistoryPlan]
        runAll(1, []) { _ in plans.popLast() }
    } catch {
        refuse("\(error)")
    }
}
let kinds = words.isEmpty ? [] : words[0].split(separator: ",").compactMap { HistoryKind(rawValue: "\($0)") }
if words.count >= 3, !kinds.isEmpty, words[1] == "--seconds" {
    let end = Date.now.addingTimeInterval(Double(number(words[2], words[1], 1...1_000_000_000)))
    var width = 1
    if words.count > 3 {
        guard words.count == 5, words[3] == "--width" else { refuse("there is no option \(words[3])") }
        width = number(words[4], words[3], 1...256)
    }
    runAll(width, kinds) { seconds in
        guard Date.now < end,
            // The one that had the least of the processor so far.
            let kind = kinds.min(by: { seconds[$0, default: 0] < seconds[$1, default: 0] })
        else { return nil }
        return HistoryPlan(kind, seed: .random(in: 0..<1_000_000_000_000))
    }
}
let last = ["--notes", "--shrink"].first { $0 == words.last }
if last != nil { words.removeLast() }
do {
    var plan = try HistoryPlan(words)
    let runner = HistoryRunner(showsNotes: last == "--notes")
    if last == "--shrink" {
        plan = runner.shrink(plan) { smaller in
            print(command(smaller))
            fflush(nil)
        }
    }
    let report = runner.run(plan)
    print(report.text)
    if last == "--shrink" { print("again: \(command(plan, "--notes"))") }
    exit(world_is_interrupted() != 0 ? 130 : report.isGood ? 0 : 1)
} catch {
    refuse("\(error)")
}
