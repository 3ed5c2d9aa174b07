import Testing

@testable import WaypostCLI

struct DisplayWidthTests {
    @Test(
        arguments: [
            ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("abcd", 1, "…"), ("abcd", 0, ""), ("", 5, ""),
            ("日本語", 6, "日本語"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"),
            ("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}"),
        ])
    func `a line is cut to the columns that it takes`(_ text: String, _ columns: Int, _ cut: String) {
        #expect(text.fitted(to: columns) == cut)
    }
}
