import Glibc

/// Measures what 64 KiB take in a release build: crafted inputs, and the corpus with a piece of each repeated.
///
/// A process of its own, for Swift Testing gathers the stack of every error that is thrown.
@main
enum Timing {
    static func main() throws {
        var findings: [String] = []
        var measured = 0
        for place in CraftedInputs.places {
            for filling in CraftedInputs.fillings {
                measured += 1
                let finding = CraftedInputs.finding(
                    place, filling, bytes: TimeBound.bytes, limit: place.timeLimit)
                if let finding { findings.append(finding) }
            }
        }
        for target in FuzzTarget.allCases {
            for (name, bytes) in try target.corpus {
                for choice in [0, 0x5_0000_0003, 0xB_0000_0011] as [UInt64] {
                    let long = TimeBound.stretched(bytes, choice)
                    measured += 1
                    guard TimeBound.best(of: 1, { target.read(long) }) > target.timeLimit else { continue }
                    let time = TimeBound.best(of: 5) { target.read(long) }
                    if time > target.timeLimit {
                        findings.append("\(name), \(choice): \(long.count) bytes take \(time / 1_000) µs")
                    }
                }
            }
        }
        for finding in findings { print("TOO SLOW: \(finding)") }
        print("\(measured) inputs of 64 KiB measured, \(findings.count) too slow")
        exit(findings.isEmpty ? 0 : 1)
    }
}
