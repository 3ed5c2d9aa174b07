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
