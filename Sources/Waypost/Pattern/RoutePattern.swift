/// A pattern of the URLs that a route takes.
///
/// | Component | Matches | Gives |
/// |---|---|---|
/// | `demo` | itself | |
/// | `:id`, `<id>` | any one component | `id` as text |
/// | `<int:id>`, `<double:…>`, `<bool:…>`, `<uuid:…>`, custom | one component that converts | the typed value |
/// | `<int(1..99):page>`, `<in(red\|blue):color>` | one component that is such a number, or one of these texts | the value |
/// | `:name.html`, `v:major`, `v<int:major>` | one component with literal parts | the part |
/// | `:from-:to`, `<int:y>-<int:m>` | one component with several parts | the parts |
/// | `*` | any one component | |
/// | `<path:rest>`, `**` | one or more components, last only | the rest under `rest`, or `**` |
/// | `(/edit)`, `(/:tab(/:page))` | components at the end that may be absent | what is there |
///
/// A pattern with a scheme matches that scheme, a pattern without one matches any scheme or none. `scheme://` alone is
/// the fallback of its scheme from any depth, `://` alone the fallback of all. `/` matches a URL without components.
///
/// The name after a colon has letters, digits, `_`, `-` and all characters that are not ASCII; another character ends
/// it. Between `<` and `>` all characters except `/`, `<`, `>`, `:`, `?` and `#` are allowed. Literals may be
/// percent-encoded; write a literal `:`, `*` or `<` in this form, and a literal `(` before a slash. A query or fragment
/// is not matched.
///
/// Between two placeholders of one component there must be a literal; `-` and `_` right before a placeholder are one,
/// and no part of the name before. Each placeholder takes at least one byte, and then up to the first place where the
/// literal behind it stands: with `:from-:to`, `a-b-c` gives `a` and `b-c`. The last takes what is left.
///
/// Optional parts are whole components and stand at the end of the path, one within the other, at most four. The
/// pattern is one route for the URLs with and without them.
///
/// Two patterns are equal when they have the same scheme and the same components, names included.
package struct RoutePattern: Sendable {
    /// The longest pattern, in bytes: eight times what a URL may have on the wire.
    package static let maximumBytes = 16_384
    /// The most components, so that a search needs a bounded amount of stack.
    static let maximumComponents = 128
    /// The most placeholders of one component, each of which is looked for in it.
    static let maximumPlaceholders = 16

    /// The pattern as it was written, without the white space around it; the name of a web host is in lower case.
    package let text: String
    /// The scheme in lower case; nil when the pattern takes any or none.
    package let scheme: String?
    // The fixed host of Mode 2, which stands before the first piece.
    let base: String?
    let pieces: [PatternPiece]
    /// Whether its literals match in either case.
    package let ignoresCase: Bool
    /// Its optional parts, and whether it is one of the shorter patterns that one with such parts stands for.
    package let optional: OptionalParts
    let isShorter: Bool

    /// Whether this is `scheme://` or `://`, the fallback of a scheme or of all.
    package let isFallback: Bool

    /// Reads a pattern.
    ///
    /// - Throws: ``RoutePatternError`` with the byte where reading stopped.
    package init(_ text: String) throws(RoutePatternError) {
        try self.init(text, syntax: PatternSyntax())
    }

    /// Reads a pattern of a dialect.
    package init(_ text: String, syntax: PatternSyntax) throws(RoutePatternError) {
        var reader = PatternReader(syntax: syntax)
        do throws(PatternFault) {
            try text.utf8Span.span.withUnsafeBufferPointer { (bytes) throws(PatternFault) in
                try reader.read(bytes)
            }
        } catch {
            throw RoutePatternError(pattern: text, offset: error.offset, reason: error.reason)
        }
        if reader.start == 0, reader.end == text.utf8.count, reader.webHost == nil {
            self.text = text
        } else {
            var bytes = Array(text.utf8.dropFirst(reader.start).prefix(reader.end - reader.start))
            for index in reader.webHost ?? [] { bytes[index] = RouteScheme.lowercased(bytes[index]) }
            self.text = String(decoding: bytes, as: UTF8.self)
        }
        self.scheme = reader.scheme
        self.isFallback = reader.isFallback
        self.pieces = reader.pieces
        self.ignoresCase = syntax.ignoresCase
        self.optional = reader.optional
        self.isShorter = false
        self.base = reader.scheme == nil && !reader.isFallback ? syntax.host : nil
    }

    /// The pattern that is left of one with optional parts when it ends after so many pieces.
    init(_ pattern: RoutePattern, pieces count: Int) {
        text = pattern.text
        scheme = pattern.scheme
        base = pattern.base
        pieces = Array(pattern.pieces.prefix(count))
        ignoresCase = pattern.ignoresCase
        optional = pattern.optional
        isShorter = true
        isFallback = pattern.isFallback
    }

    /// The names of the placeholders from left to right; a rest written `**` is named so.
    package var placeholderNames: [String] {
        segments.flatMap(\.names)
    }
}

extension RoutePattern: Hashable {
    /// Whether both have the same scheme and the same components.
    package static func == (one: RoutePattern, other: RoutePattern) -> Bool {
        one.scheme == other.scheme && one.isFallback == other.isFallback && one.optional == other.optional
            && ((one.text == other.text && one.base == other.base && one.pieces == other.pieces)
                || one.segments == other.segments)
    }

    /// Feeds what equality compares.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(scheme)
        hasher.combine(segments)
    }
}

extension RoutePattern {
    /// Whether both take exactly the same URLs: names of placeholders make no difference.
    package func takesTheSame(as other: RoutePattern) -> Bool {
        guard pieces.count == other.pieces.count || base != other.base, scheme == other.scheme,
            isFallback == other.isFallback, optional == other.optional
        else { return false }
        let ignoresCase = ignoresCase || other.ignoresCase
        return segments.elementsEqual(other.segments) { $0.takesTheSame(as: $1, ignoresCase) }
    }
}

extension RoutePattern.Segment {
    fileprivate func takesTheSame(as other: Self, _ ignoresCase: Bool) -> Bool {
        // By bytes, not by Unicode equivalence, as in matching.
        func isEqual(_ one: String, _ other: String) -> Bool {
            RouteScheme.equals(one, other, ignoringCase: ignoresCase)
        }
        switch (self, other) {
        case (.literal(let one), .literal(let two)): return isEqual(one, two)
        case (.partial(let prefix, _, let suffix, let converter), .partial(let start, _, let end, let type)):
            return isEqual(prefix, start) && isEqual(suffix, end) && converter == type
        case (.several(let prefix, let parts), .several(let start, let others)):
            return isEqual(prefix, start)
                && parts.elementsEqual(others) {
                    isEqual($0.suffix, $1.suffix) && $0.converter == $1.converter
                }
        case (.typed(_, let converter), .typed(_, let type)): return converter == type
        case (.placeholder, .placeholder), (.wildcard, .wildcard), (.rest, .rest): return true
        default: return false
        }
    }
}

extension RoutePattern: CustomStringConvertible {
    /// The pattern as it was written.
    package var description: String { text }
}
