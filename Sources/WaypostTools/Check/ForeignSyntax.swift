import Waypost

/// Finds what is a placeholder in the patterns of other routers, and plain text in ours.
enum ForeignSyntax {
    /// What was found first and how it is written here; nil when there is nothing of the kind.
    static func hint(in pattern: String, _ syntax: PatternSyntax) -> String? {
        let start = pattern.firstRange(of: "://")?.upperBound ?? pattern.startIndex
        for component in pattern[start...].split(separator: "/") {
            if let hint = hint(component: withoutTyped(component), syntax) { return hint }
        }
        return nil
    }

    private static func hint(component: String, _ syntax: PatternSyntax) -> String? {
        braces(component) ?? brackets(component) ?? expression(component) ?? mark(component)
            ?? star(component, syntax)
    }

    /// `{id}`, `{id:[0-9]+}`, `{*rest}`, `${id}`.
    private static func braces(_ component: String) -> String? {
        guard let open = component.firstIndex(of: "{"),
            let close = component[open...].firstIndex(of: "}")
        else { return nil }
        return plain(component[open...close], within: component[component.index(after: open)..<close])
    }

    /// `[id]`, `[...rest]`, `[[...rest]]`.
    private static func brackets(_ component: String) -> String? {
        guard component.hasPrefix("["), component.hasSuffix("]") else { return nil }
        return plain(component[...], within: component.filter { $0 != "[" && $0 != "]" }[...])
    }

    /// `:id(\d+)`, `(.*)`, `(a|b)`, `(.:format)`; parentheses around plain text are plain text everywhere.
    private static func expression(_ component: String) -> String? {
        guard let open = component.firstIndex(of: "("), let close = component.lastIndex(of: ")"),
            open < close, component[open...close].contains(where: { "\\*+|[^:".contains($0) })
        else { return nil }
        return """
            \(component[open...close]) is plain text here, not a regular expression; write <int:name> for a \
            number, <in(a|b):name> for one of several texts
            """
    }

    /// `:id?`, `:id*`, `:id+`.
    private static func mark(_ component: String) -> String? {
        guard component.hasPrefix(":"), let mark = component.last, component.count > 2,
            component.dropFirst().dropLast().allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
        else { return nil }
        let placeholder = component.dropLast()
        switch mark {
        case "?":
            return """
                the question mark in \(component) begins the query here; write an optional part as \
                (/\(placeholder))
                """
        case "*", "+":
            return """
                the \(mark) of \(component) is plain text here; match the rest with \
                <path:\(placeholder.dropFirst())>
                """
        default: return nil
        }
    }

    /// `*rest`, and `*` where it is no wildcard.
    private static func star(_ component: String, _ syntax: PatternSyntax) -> String? {
        guard component.hasPrefix("*") else { return nil }
        if component == "*" || component == "**" {
            return syntax.wildcards ? nil : "\(component) is plain text in this dialect, not a wildcard"
        }
        let name = component.drop { $0 == "*" }
        guard name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) else { return nil }
        return "\(component) is plain text here; match the rest with <path:\(name)>"
    }

    private static func plain(_ found: Substring, within name: Substring) -> String {
        let isRest = name.hasPrefix("*") || name.hasPrefix("...") || name.hasSuffix("*")
        let word = name.drop { !$0.isLetter && $0 != "_" }.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        let own = word.isEmpty ? "name" : word
        return "\(found) is plain text here; write a placeholder as \(isRest ? "<path:\(own)>" : ":\(own)")"
    }

    /// Without `<…>`, which is ours and may have parentheses.
    private static func withoutTyped(_ component: Substring) -> String {
        var text = String(component)
        while let open = text.firstIndex(of: "<"), let close = text[open...].firstIndex(of: ">") {
            text.removeSubrange(open...close)
        }
        return text
    }
}
