import Testing
import WaypostMessages

@testable import WaypostCLI

struct TimeSpanTests {
    @Test(
        arguments: [
            ("500ms", 500), ("10s", 10_000), ("10", 10_000), ("1.5", 1_500), ("2m", 120_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000), ("0", 0), ("0s", 0), ("1 s", 1_000), ("10 min", 600_000),
        ] as [(String, Int64)])
    func `a time is a number with its unit, seconds without`(_ text: String, _ milliseconds: Int64) {
        #expect(TimeSpan(argument: text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "s", "ms", "-1", "-1s", "1x", "1  s", "1 ", "inf", "nan", "0x10", "1e3s", "400d", "999999999999h",
        "1.2.3s", "١s",
    ])
    func `anything else is none`(_ text: String) {
        #expect(TimeSpan(argument: text) == nil)
    }

    @Test(
        arguments: [
            (0, "0 s"), (500, "500 ms"), (10_000, "10 s"), (90_000, "90 s"), (600_000, "10 min"),
            (7_200_000, "2 h"), (86_400_000, "1 d"),
        ] as [(Int64, String)])
    func `in a sentence it stands in the largest unit that leaves a whole number`(
        _ milliseconds: Int64, _ text: String
    ) {
        #expect(TimeSpan(milliseconds: milliseconds).description == text)
        #expect(TimeSpan(argument: text)?.milliseconds == milliseconds)
    }
}
