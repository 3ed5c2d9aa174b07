import Testing

@testable import WaypostCLI

/// Tables fit the terminal: what matters least goes first, and the last column never.
struct TextTableTests {
    private static let problem =
        "store: the state directory is on a full file system, 0 MiB free; map rev 3 refused"
    private static let table = TextTable(
        columns: [
            .init("AGENT"), .init("STATE", expendability: 1), .init("SINCE", expendability: 2),
            .init("VERSION", expendability: 4), .init("GROUPS", expendability: 3), .init("PROBLEM"),
        ],
        rows: [
            ["kiosk-1", "lost", "2 min ago", "0.1.0", "lobby,north", problem],
            ["kiosk-2", "online", "3 d ago", "0.1.0", "-", ""],
        ])

    @Test func `without a terminal nothing is left out or cut`() {
        #expect(
            Self.table.lines(within: nil) == [
                ["AGENT    STATE   SINCE      VERSION  GROUPS       PROBLEM"],
                ["kiosk-1  lost    2 min ago  0.1.0    lobby,north  \(Self.problem)"],
                ["kiosk-2  online  3 d ago    0.1.0    -"],
            ])
    }

    @Test(
        arguments: [
            (
                60, "AGENT    STATE   SINCE      PROBLEM",
                "kiosk-1  lost    2 min ago  store: the state directory is o…"
            ),
            (
                100, "AGENT    STATE   SINCE      VERSION  GROUPS       PROBLEM",
                "kiosk-1  lost    2 min ago  0.1.0    lobby,north  "
                    + "store: the state directory is on a full file syst…"
            ),
            (
                160, "AGENT    STATE   SINCE      VERSION  GROUPS       PROBLEM",
                "kiosk-1  lost    2 min ago  0.1.0    lobby,north  \(problem)"
            ),
        ])
    func `on a terminal the columns that matter least go first`(width: Int, head: String, row: String) {
        let lines = Self.table.lines(within: width)
        #expect(lines[0] == [head])
        #expect(lines[1] == [row])
        #expect(lines.joined().allSatisfy { $0.columns <= width })
    }

    @Test func `on demand what does not fit goes on below it`() {
        let lines = Self.table.lines(within: 60, wraps: true)
        #expect(
            lines[1] == [
                "kiosk-1  lost    2 min ago  store: the state directory is on",
                "                            a full file system, 0 MiB free;",
                "                            map rev 3 refused",
            ])
        #expect(lines[2] == ["kiosk-2  online  3 d ago"])
    }

    @Test(arguments: 1...200)
    func `no line is wider than the terminal, and the problem is always there`(width: Int) {
        for lines in [Self.table.lines(within: width), Self.table.lines(within: width, wraps: true)] {
            // Below this there is space for no more than the name and a piece of the problem.
            #expect(lines.joined().allSatisfy { $0.columns <= max(18, width) })
            #expect(lines[0].joined().contains("PROBLEM"))
            #expect(lines[1].joined().contains("store"))
        }
    }

    @Test(
        arguments: [
            ("a bb ccc", 4, ["a bb", "ccc"]), ("abcdefgh", 3, ["abc", "def", "gh"]), ("", 3, [""]),
            ("日本語の文", 4, ["日本", "語の", "文"]), ("a abcdefgh b", 4, ["a", "abcd", "efgh", "b"]),
            ("ab cd", 5, ["ab cd"]),
        ])
    func `text is broken at spaces, and within words that are longer than a line`(
        text: String, width: Int, lines: [String]
    ) {
        #expect(text.wrapped(to: width) == lines)
    }

    @Test func `the texts of a page go on below themselves`() {
        let entries = [
            TextTable.Entry(name: "store", text: "writable"),
            TextTable.Entry(name: "link", text: "the broker refused the login: Not authorized"),
        ]
        #expect(
            TextTable.lines(entries, within: 40).map(\.text) == [
                "  store  writable",
                "  link   the broker refused the login:",
                "         Not authorized",
            ])
        #expect(TextTable.lines(entries).count == 2)
    }
}
