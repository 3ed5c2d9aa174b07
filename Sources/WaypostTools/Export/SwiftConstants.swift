import Waypost

/// Routes as Swift source: one constant a path.
struct SwiftConstants {
    private let routes: [RouteDescription]

    init(_ routes: [RouteDescription]) {
        self.routes = routes
    }

    var text: String {
        var text = """
            // Generated from the registered routes; changes are lost with the next export.
            import Waypost

            extension RouteKey {

            """
        var used: Set<String> = []
        for route in routes {
            let name = Self.unique(Self.name(route.path), &used)
            if !route.className.isEmpty { text += "    /// \(Self.line(route.className))\n" }
            text +=
                "    public static let \(SwiftWords.escaped(name)): RouteKey = \(Self.literal(route.path))\n"
        }
        return text + "}\n"
    }

    /// `routerUserById` for `scheme://router/user/:id`.
    static func name(_ path: String) -> String {
        let body = path.split(separator: "?", omittingEmptySubsequences: false).first ?? ""
        var text = String(body)
        if let colon = text.range(ofScheme: "://") { text = String(text[colon...]) }
        var words: [String] = []
        for component in text.split(separator: "/") {
            if component == "*" {
                words.append("any")
            } else if component == "**" {
                words.append("rest")
            } else {
                let hole = component.contains(":") || component.contains("<")
                let parts = component.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
                let names =
                    (try? RoutePattern(Self.withoutEnds(component)) as RoutePattern)?.placeholderNames ?? []
                words +=
                    hole ? ["by"] + (names.count > 1 ? names.map(Self.identifier) : parts.suffix(1)) : parts
            }
        }
        guard let first = words.first else { return "fallback" }
        let name =
            first.prefix(1).lowercased() + first.dropFirst()
            + words.dropFirst().map(Self.capitalised).joined()
        return name.first?.isNumber == true ? "_" + name : name
    }

    /// A component without the parentheses of optional parts.
    private static func withoutEnds(_ component: Substring) -> String {
        var component = component
        while component.last == "(" || component.last == ")" { component.removeLast() }
        return String(component)
    }

    private static func identifier(_ name: String) -> String {
        name.filter { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    private static func capitalised(_ word: String) -> String {
        word.prefix(1).uppercased() + word.dropFirst()
    }

    private static func unique(_ name: String, _ used: inout Set<String>) -> String {
        var candidate = name
        var number = 2
        while !used.insert(candidate).inserted {
            candidate = "\(name)\(number)"
            number += 1
        }
        return candidate
    }

    private static func line(_ text: String) -> String { text.escaping { $0.endsLine ? " " : nil } }

    private static func literal(_ text: String) -> String {
        let inside = text.escaping { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case _ where scalar.isUnseen: "\\u{\(String(scalar.value, radix: 16))}"
            default: nil
            }
        }
        return "\"\(inside)\""
    }
}

extension String {
    /// Where the text behind a separator begins; nil without one.
    fileprivate func range(ofScheme separator: String) -> String.Index? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(separator) { return index(start, offsetBy: separator.count) }
            start = index(after: start)
        }
        return nil
    }
}

/// Names in generated Swift.
package enum SwiftWords {
    package static let reserved: Set<String> = [
        "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default", "defer",
        "deinit", "do", "else",
        "enum",
        "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in",
        "init", "inout",
        "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
        "repeat", "rethrows",
        "return",
        "self", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try",
        "typealias",
        "var", "where", "while", "Self", "Any", "Type", "Protocol",
    ]

    /// The name, in backquotes where it is a word of the language.
    package static func escaped(_ name: String) -> String { reserved.contains(name) ? "`\(name)`" : name }
}
