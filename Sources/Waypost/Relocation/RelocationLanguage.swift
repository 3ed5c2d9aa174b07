/// How the patterns of relocation entries are read.
///
/// A document means the same in every dialect, so `*` is always a wildcard here.
package struct RelocationLanguage: Sendable {
    let converters: [String: RouteConverter]
    /// Whether URLs match in either case.
    var ignoresCase: Bool { syntax.ignoresCase }
    private let syntax: PatternSyntax
    /// Whether the router's converters are not known yet, so that every name is taken for one.
    private let takesAnyConverter: Bool

    /// For reading a document before a router has seen it.
    static let ofDocuments = RelocationLanguage(converters: [:], takesAnyConverter: true)

    package init(converters: [String: RouteConverter], ignoresCase: Bool) {
        self.init(converters: converters, ignoresCase: ignoresCase, takesAnyConverter: false)
    }

    private init(
        converters: [String: RouteConverter], ignoresCase: Bool = false, takesAnyConverter: Bool
    ) {
        self.converters = converters
        self.takesAnyConverter = takesAnyConverter
        var syntax = PatternSyntax()
        syntax.converterNames.formUnion(converters.keys)
        syntax.ignoresCase = ignoresCase
        self.syntax = syntax
    }

    /// A table without routes, for patterns of this language.
    package func table() -> RouteTable { RouteTable(syntax: syntax, converters: converters) }

    /// The pattern; nil for a text without placeholders, which is a URL.
    func pattern(_ text: String, index: Int, field: String) throws(RelocationError) -> RoutePattern? {
        guard Self.mayBePattern(text) else { return nil }
        let pattern = try wholePattern(text, index: index, field: field)
        return pattern.segments.contains(where: \.isHole) ? pattern : nil
    }

    /// The same for a text that is a pattern in any case, perhaps one without placeholders.
    package func wholePattern(_ text: String, index: Int, field: String) throws(RelocationError)
        -> RoutePattern
    {
        var syntax = syntax
        // What is longer is refused whatever its converters are.
        if takesAnyConverter, text.utf8.count <= RoutePattern.maximumBytes {
            for hole in text.utf8.split(separator: UInt8(ascii: "<"), omittingEmptySubsequences: false)
                .dropFirst()
            {
                syntax.converterNames.insert(String(Substring(hole.prefix { $0 != UInt8(ascii: ":") })))
            }
        }
        let pattern: RoutePattern
        do throws(RoutePatternError) {
            pattern = try RoutePattern(text, syntax: syntax)
        } catch {
            throw RelocationError(
                .badField, index: index, field: field,
                detail: "\(field): \(error.reason) at byte \(error.offset); \(Self.advice)")
        }
        guard pattern.optional.areNone else {
            throw RelocationError(
                .badField, index: index, field: field,
                detail:
                    "\(field) cannot have optional parts, write an entry for each; a literal ( before / is "
                    + "written %28")
        }
        guard pattern.pieces.count <= RelocationPath.maximumComponents else {
            throw RelocationError(
                .badField, index: index, field: field,
                detail: "\(field) has more than \(RelocationPath.maximumComponents) components")
        }
        return pattern
    }

    static let advice = "a literal : < or * is written %3A %3C %2A"

    private static func mayBePattern(_ text: String) -> Bool {
        var hasAuthority = false
        var hasMark = false
        let bytes = text.utf8
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
            bytes.formIndex(after: &index)
            if byte == UInt8(ascii: ":"), !hasAuthority, bytes[index...].starts(with: "//".utf8) {
                hasAuthority = true
                // An address in brackets is a host.
                let host = bytes.index(index, offsetBy: 2)
                if bytes[host...].first == UInt8(ascii: "["),
                    let end = bytes[host...].firstIndex(of: UInt8(ascii: "]"))
                {
                    index = end
                }
            } else if byte == UInt8(ascii: ":") || byte == UInt8(ascii: "<") || byte == UInt8(ascii: "*")
                || byte == UInt8(ascii: "(") && bytes[index...].first == UInt8(ascii: "/")
            {
                hasMark = true
                if hasAuthority { return true }
            }
        }
        // `mailto:a@b` is a URL and no pattern.
        return hasMark && (hasAuthority || (try? RouteURL(text))?.hasScheme != true)
    }
}

extension RoutePattern.Segment {
    /// Whether it is no literal.
    var isHole: Bool { !names.isEmpty || self == .wildcard }
}
