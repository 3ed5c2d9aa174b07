import TestSupport
import Testing

@testable import WaypostMessages

/// Regular expressions of queries: what they find, what they refuse, and that none takes long.
@Suite struct RegularExpressionTests {
    private func isIn(_ expression: String, _ text: String) throws -> Bool {
        try RegularExpression(expression).isIn(text)
    }

    @Test(arguments: [
        ("", "", true), ("", "a", true), ("a", "bab", true), ("^a", "ba", false), ("a$", "ab", false),
        ("^$", "", true), ("^$", "a", false), ("a|b", "cb", true), ("^(a|b)+$", "abba", true),
        ("^(?:ab)*$", "abab", true), ("^(?<name>ab)*$", "aba", false), ("^a?b$", "b", true),
        ("a{2}", "ba", false),
        ("^a{2,3}$", "aaa", true), ("^a{2,3}$", "aaaa", false), ("^a{2,}$", "aaaaa", true),
        ("a{", "a{", true),
        ("^a{0}$", "", true), ("^.$", "é", true), ("^.$", "\n", false), ("[^a]", "a", false),
        ("[]", "a", false),
        ("^[^]$", "a", true), ("^[a-c]+$", "abc", true), ("^[a-]+$", "a-", true), (#"^[\d.]+$"#, "1.5", true),
        (#"\bno\b"#, "say no!", true), (#"\bno\b"#, "nothing", false), (#"\Bo"#, "no", true),
        (#"^\w+$"#, "a_1", true), (#"^\s$"#, "\u{A0}", true), (#"^\S\D\W$"#, "aa!", true),
        (#"a\.b"#, "axb", false),
        (#"\x41\u0042\u{43}"#, "ABC", true), (#"^\t$"#, "\t", true), ("(?i)ABC", "xabc", true),
        ("(?i:A)b", "aB", false), ("(?i)[a-c]", "B", true), ("(?i)É", "é", true), ("a+?", "a", true),
        ("took [0-9]{4,} ms", "it took 1234 ms", true), ("(a*)*b", "aab", true), ("(|a)+", "", true),
        ("(a|b|)*c", "abac", true), ("^(a?){3}$", "aa", true), ("日本", "は日本の", true),
    ])
    func `an expression finds what it says`(_ expression: String, _ text: String, _ isFound: Bool) throws {
        #expect(try isIn(expression, text) == isFound)
    }

    @Test(arguments: [
        ("(", "not closed"), (")", "closes no group"), ("[a", "not closed"), ("[b-a]", "range"),
        ("*a", "repeats nothing"),
        ("a**", "repeats nothing"), ("a++", "possessive"), (#"(a)\1"#, "references"),
        (#"\k<a>"#, "references"),
        ("(?=a)", "of groups"), ("(?!a)", "of groups"), ("(?<=a)b", "of groups"), ("(?<!a)b", "of groups"),
        ("(?<", "of groups"),
        ("(?", "of groups"), (#"\p{L}"#, #"\p"#), (#"\"#, "backslash"), (#"\x4"#, "name a character"),
        (#"\u{D800}"#, "name a character"),
        ("a{3,2}", "in order"), ("a{2000}", "up to"), ("a{99999999999999999999}", "up to"),
        ("^*", "can't be repeated"),
        ("(a{100}){100}", "too long"), ("(((((){900}){900}){900}){900})", "too long"),
        (String(repeating: "(", count: 60) + String(repeating: ")", count: 60), "too many groups"),
        (String(repeating: "a", count: 1_001), "too long"),
    ])
    func `what is no expression, or more than there is, is refused with the reason`(
        _ expression: String, _ reason: String
    ) {
        #expect {
            try RegularExpression(expression)
        } throws: { error in
            (error as? RegularExpression.Fault)?.detail.contains(reason) ?? false
        }
    }

    /// An engine that tries one way after the other takes years for each of them.
    @Test(arguments: [
        "(a+)+$", "(a*)*b", "(a|aa)+$", "(.*)*x", "(.*)(.*)(.*)(.*)(.*)(.*)x", "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(a?){30}a{30}b", "(a|b|ab)*c", "(x+x+)+y", #"(\w+\s?)+$!"#, ".*.*.*=.*",
        (0..<100).map { "a{\($0 % 5)}b\($0)" }.joined(separator: "|"),
    ])
    func `none takes more than a share of a second for the longest message`(_ expression: String) throws {
        let expression = try RegularExpression(expression)
        for unit in ["a", "x", "ab", "a ", "\u{1F1E6}", "e\u{301}"] {
            let text =
                String(repeating: unit, count: LogEvent.maximumMessageBytes / unit.utf8.count - 1) + "!"
            // A debug build under a sanitizer is a hundred times slower than what is shipped.
            #expect(processorTime { _ = expression.isIn(text) } < .seconds(20))
        }
    }

    /// Where a part of an expression can end that begins at one of these places: slow, and plain.
    private func ends(
        _ node: RegularExpression.Node, _ starts: Set<Int>, _ text: [Unicode.Scalar]
    ) -> Set<Int> {
        switch node {
        case .set(let set):
            return Set(starts.filter { $0 < text.count && set.contains(text[$0]) }.map { $0 + 1 })
        case .assertion(let assertion):
            return starts.filter { assertion == .begin ? $0 == 0 : $0 == text.count }
        case .sequence(let nodes): return nodes.reduce(starts) { ends($1, $0, text) }
        case .choice(let nodes): return nodes.reduce(into: []) { $0.formUnion(ends($1, starts, text)) }
        case .repeated(let node, let least, let most):
            var reached = (0..<least).reduce(starts) { starts, _ in ends(node, starts, text) }
            var all = reached
            var count = least
            while most.map({ count < $0 }) ?? true {
                reached = ends(node, reached, text)
                guard !reached.isSubset(of: all) else { break }
                all.formUnion(reached)
                count += 1
            }
            return all
        }
    }

    /// What the parts of an expression mean says what it finds; Swift's own engine does not come to an end here.
    @Test func `random expressions find what their parts say`() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        func piece(_ depth: Int) -> String {
            let atom =
                switch Int.random(in: 0..<(depth > 2 ? 5 : 8), using: &random) {
                case 0: "a"
                case 1: "b"
                case 2: "."
                case 3: "[ab]"
                case 4: "[^a]"
                case 5: "(\(choice(depth + 1)))"
                case 6: "(?:\(choice(depth + 1)))"
                default: "(\(choice(depth + 1))|c)"
                }
            let counts = ["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?"]
            return atom + counts[Int.random(in: counts.indices, using: &random)]
        }
        func choice(_ depth: Int) -> String {
            (0..<Int.random(in: 1...2, using: &random)).map { _ in
                (0..<Int.random(in: 1...3, using: &random)).map { _ in piece(depth) }.joined()
            }.joined(separator: "|")
        }
        for _ in 0..<300 {
            var text = choice(0)
            if Bool.random(using: &random) { text = "^(?:\(text))$" }
            let own = try RegularExpression(text)
            var parser = RegularExpression.Parser(text)
            let node = try parser.expression()
            for _ in 0..<10 {
                let length = Int.random(in: 0...7, using: &random)
                let line = (0..<length).map { _ in ["a", "b", "c"][Int.random(in: 0..<3, using: &random)] }
                    .joined()
                let scalars = Array(line.unicodeScalars)
                let isFound = (0...scalars.count).contains { !ends(node, [$0], scalars).isEmpty }
                #expect(own.isIn(line) == isFound, "\(text) in \(line); seed \(seed)")
            }
        }
    }
}
