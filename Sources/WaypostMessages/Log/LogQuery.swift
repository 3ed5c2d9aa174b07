package import Waypost

/// A question to the log, in the language of Android Studio's: `tag:Router level:W -message:demo age:10m`.
///
/// Terms are separated by white space; what has white space in it stands in quotes. Terms of one key are alternatives,
/// those of different keys must all hold, and none that begins with `-` may. A term without a key is looked for in the
/// tag and the message. `:` finds a part of the text without regard to case, `=:` the whole text as it stands, and `~:`
/// a regular expression.
package struct LogQuery: Sendable {
    /// What a term looks at.
    private enum Key: String, Sendable, CaseIterable {
        case agent, tag, level, code, ref, trace, url, message, age
        case kind = "is"
        /// Of a term without a key.
        case line = ""
    }

    private struct Term: Sendable {
        /// As it was written.
        var text: String
        var key: Key
        var isNegated: Bool
        var test: Test

        var isExpression: Bool {
            if case .text(let pattern) = test { pattern.isExpression } else { false }
        }
    }

    private enum Test: Sendable {
        case text(TextPattern)
        /// This level and higher ones.
        case level(LogLevel)
        /// As new as this, in milliseconds.
        case age(Int64)
        case isFailure
    }

    private var terms: [Term] = []

    /// Reads a query; an empty one holds for every line.
    ///
    /// - Throws: ``Failure`` 422 naming the term and what it should be.
    package init(_ text: String) throws(Failure) {
        var reader = Reader(rest: text[...].unicodeScalars)
        while let word = try reader.next() { terms.append(try Self.term(word)) }
    }

    /// The longest query that an agent takes, in bytes.
    package static let maximumBytes = 1_024

    /// Reads a query that came from outside, to be answered by an agent.
    ///
    /// Of one that is short and has no regular expressions it is known that it takes little time for each event.
    ///
    /// - Throws: ``Failure`` 422 naming the term and what it should be, and 413 for one that is too long.
    package init(forAgent text: String) throws(Failure) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw Failure(
                .tooLarge, "query has \(text.utf8.count) bytes; an agent accepts at most \(Self.maximumBytes)"
            )
        }
        try self.init(text)
        if let term = terms.first(where: \.isExpression) {
            throw Failure(
                .badField,
                "query: an agent does not evaluate regular expressions; apply \(term.text.quoted) where you read the events"
            )
        }
    }

    /// The part of it that an agent can evaluate: it holds wherever the whole holds, and may hold elsewhere too.
    package var textForAgent: String {
        // Of the alternatives of a key all must be there, or none.
        let expressions = Set(terms.filter { $0.isExpression && !$0.isNegated }.map(\.key))
        let text = terms.filter { !$0.isExpression && ($0.isNegated || !expressions.contains($0.key)) }
            .map(\.text).joined(separator: " ")
        return text.utf8.count <= Self.maximumBytes ? text : ""
    }

    /// Whether it holds for an event, or for a failure report in the form of one.
    ///
    /// - Parameters:
    ///   - code: of a failure.
    ///   - isReport: whether it is a report.
    ///   - now: the time of the wall clock, in milliseconds since 1970.
    package func holds(
        for event: LogEvent, of agent: String, code: Code?, isReport: Bool = false, now: Int64
    ) -> Bool {
        func isTrue(_ test: Test, _ key: Key) -> Bool {
            switch test {
            case .level(let lowest): return event.level >= lowest
            case .age(let longest):
                return now.subtracting(clamping: event.time) <= longest
            case .isFailure: return isReport || event.isError
            case .text(let pattern):
                let texts: [String?] =
                    switch key {
                    case .agent: [agent]
                    case .tag: [event.tag]
                    case .ref: [event.ref]
                    case .trace: [event.trace]
                    case .url: [event.url]
                    case .code: code.map { [String($0.number), $0.name] } ?? []
                    case .message: [event.message]
                    default: [event.tag, event.message]
                    }
                return texts.contains { $0.map(pattern.isIn) ?? false }
            }
        }
        var wanted: [Key: Bool] = [:]
        for term in terms {
            if term.isNegated {
                if isTrue(term.test, term.key) { return false }
            } else if wanted[term.key] != true {
                wanted[term.key] = isTrue(term.test, term.key)
            }
        }
        return wanted.values.allSatisfy(\.self)
    }

    // MARK: Reading

    /// One term as it was written.
    private struct Word {
        var text: String
        var isNegated = false
        /// Nil for a term without a key.
        var key: String?
        var how = TextPattern.How.part
        var value = ""
    }

    /// Takes a query apart into terms, by scalars: a mark that combines with a quote or a blank makes no other of it.
    private struct Reader {
        var rest: Substring.UnicodeScalarView

        mutating func next() throws(Failure) -> Word? {
            rest = rest.drop(while: Self.isBlank)
            guard !rest.isEmpty else { return nil }
            let start = rest
            var word = Word(text: "")
            if rest.first == "-", rest.count > 1 {
                word.isNegated = true
                rest.removeFirst()
            }
            let name = rest.prefix { $0.isASCII && $0.properties.isAlphabetic }
            for (mark, how) in [(":", TextPattern.How.part), ("=:", .whole), ("~:", .expression)]
            where !name.isEmpty && rest[name.endIndex...].starts(with: mark.unicodeScalars) {
                word.key = String(name)
                word.how = how
                rest = rest[name.endIndex...].dropFirst(mark.unicodeScalars.count)
                break
            }
            word.value = try value()
            word.text = String(start[..<rest.startIndex])
            return word
        }

        private static func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" }

        private mutating func value() throws(Failure) -> String {
            guard let quote = rest.first, quote == "\"" || quote == "'" else {
                let value = rest.prefix { !Self.isBlank($0) }
                rest = rest[value.endIndex...]
                return String(value)
            }
            let begin = rest
            rest.removeFirst()
            var value = String.UnicodeScalarView()
            while let scalar = rest.popFirst() {
                if scalar == quote { return String(value) }
                // Only a quote is escaped, so that an expression keeps its backslashes.
                if scalar == "\\", let next = rest.first, next == quote {
                    rest.removeFirst()
                    value.append(next)
                } else {
                    value.append(scalar)
                }
            }
            throw Failure(
                .badField, "the query has a quote that is not closed: \(String(begin.prefix(20)))")
        }
    }

    private static func term(_ word: Word) throws(Failure) -> Term {
        func fault(_ why: String) -> Failure {
            Failure(.badField, "the query's term \(word.text.debugDescription) \(why)")
        }
        guard let name = word.key else {
            guard !word.value.isEmpty else { throw fault("is empty") }
            return Term(
                text: word.text, key: .line, isNegated: word.isNegated,
                test: .text(try TextPattern(word.value, .part)))
        }
        let names = Key.allCases.map(\.rawValue).filter { !$0.isEmpty }
        guard let key = Key(rawValue: name.lowercased()), key != .line else {
            let near = NearestNames.find(name, among: names, limit: 1, slips: 2)
            throw fault(
                "has an unknown key\(near.first.map { "; did you mean \($0)?" } ?? "") (keys are \(names.joined(separator: ", ")); "
                    + "for a text with a colon in it use quotes)")
        }
        guard !word.value.isEmpty else { throw fault("has no value") }
        let test: Test
        switch key {
        case .level:
            guard let level = LogLevel(name: word.value) else {
                throw fault("must name one of V D I W E F")
            }
            test = .level(level)
        case .age:
            guard let span = TimeSpan(argument: word.value) else {
                throw fault("must have a time such as 30s, 10m, 1h")
            }
            test = .age(span.milliseconds)
        case .kind:
            guard word.value.lowercased() == "failure" else { throw fault("must be is:failure") }
            test = .isFailure
        default: test = .text(try TextPattern(word.value, word.how))
        }
        return Term(text: word.text, key: key, isNegated: word.isNegated, test: test)
    }
}
