/// A method's name in its Swift and Objective-C forms.
struct MethodName: Sendable, Hashable {
    /// What stands before the parentheses.
    let base: String
    /// The argument labels; `_` for none.
    let labels: [String]

    /// Reads `add(a:b:)`, or a bare `now` without arguments.
    ///
    /// Nil when the text is not a name.
    init?(_ text: String) {
        guard let open = text.firstIndex(of: "(") else {
            guard Self.isIdentifier(text) else { return nil }
            base = text
            labels = []
            return
        }
        base = String(text[..<open])
        let inside = text[text.index(after: open)...].dropLast()
        guard Self.isIdentifier(base), text.hasSuffix(")"), inside.isEmpty || inside.hasSuffix(":") else {
            return nil
        }
        labels = inside.split(separator: ":").map(String.init)
        guard labels.allSatisfy(Self.isIdentifier), inside.count == labels.reduce(0, { $0 + $1.count + 1 })
        else {
            return nil
        }
    }

    /// `add(a:b:)`.
    var full: String {
        "\(base)(\(labels.map { "\($0):" }.joined()))"
    }

    /// The Objective-C selectors that Swift could give this method: `addWithA:b:`.
    ///
    /// Swift leaves `With` out before a preposition (`divide(by:)` is `divideBy:`), while people who write
    /// selectors by hand put it everywhere; both are understood.
    var selectors: [String] {
        guard let first = labels.first else { return [base] }
        let rest = labels.dropFirst().map { $0 == "_" ? ":" : "\($0):" }.joined()
        if first == "_" { return ["\(base):\(rest)"] }
        let capitalised = first.prefix(1).uppercased() + first.dropFirst()
        let with = "\(base)With\(capitalised):\(rest)"
        let bare = "\(base)\(capitalised):\(rest)"
        let word = first.prefix { $0.isLowercase }
        return Self.prepositions.contains(String(word)) ? [bare, with] : [with]
    }

    private static let prepositions: Set<String> = [
        "above", "after", "along", "alongside", "as", "at", "below", "by", "following", "for", "from",
        "given",
        "in", "including", "inside", "into", "matching", "of", "on", "passing", "preceding", "since", "to",
        "until", "using", "via", "when", "with", "within",
    ]

    private static func isIdentifier(_ text: String) -> Bool {
        guard let first = text.first, first.isLetter || first == "_" else { return false }
        return text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }
}
