import Waypost
import WaypostMessages

/// A question to the log, in the language of Android Studio's: `tag:Router level:W -message:demo age:10m`.
///
/// Terms are separated by white space; what has white space in it stands in quotes. Terms of one key are alternatives,
/// those of different keys must all hold, and none that begins with `-` may. A term without a key is looked for in the
/// tag and the message. `:` finds a part of the text without regard to case, `=:` the whole text as it stands, and `~:`
/// a regular expression.
struct LogQuery: Sendable {
    /// What a term looks at.
    enum Key: String, Sendable, CaseIterable {
        case agent, tag, level, code, ref, url, message, age
        case kind = "is"
        /// Of a term without a key.
        case line = ""
    }

    private struct Term: Sendable {
        var key: Key
        var isNegated: Bool
        var test: Test
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
    /// - Throws: ``CommandError`` 64 naming the term and what it should be.
    init(_ text: String) throws(CommandError) {
        var reader = Reader(rest: text[...])
        while let word = try reader.next() { terms.append(try Self.term(word)) }
    }

    /// Whether it holds for a line.
    ///
    /// - Parameter now: the time of the wall clock, in milliseconds since 1970.
    func holds(for line: LogLine, now: Int64) -> Bool {
        var wanted: [Key: Bool] = [:]
        for term in terms {
            let isTrue = Self.isTrue(term, line, now)
            if term.isNegated {
                if isTrue { return false }
            } else {
                wanted[term.key] = wanted[term.key] == true || isTrue
            }
        }
        return wanted.values.allSatisfy(\.self)
    }

    private static func isTrue(_ term: Term, _ line: LogLine, _ now: Int64) -> Bool {
        let event = line.event
        switch term.test {
        case .level(let lowest): return event.level >= lowest
        case .age(let longest):
            let (age, overflow) = now.subtractingReportingOverflow(event.time)
            return !overflow && age <= longest
        case .isFailure: return line.isReport || event.isError
        case .text(let pattern):
            let texts: [String?] =
                switch term.key {
                case .agent: [line.agent]
                case .tag: [event.tag]
                case .ref: [event.ref]
                case .url: [event.url]
                case .code: line.code.map { [String($0.number), $0.name] } ?? []
                case .message: [event.message]
                default: [event.tag, event.message]
                }
            return texts.contains { $0.map(pattern.isIn) ?? false }
        }
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

    /// Takes a query apart into terms.
    private struct Reader {
        var rest: Substring

        mutating func next() throws(CommandError) -> Word? {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            guard !rest.isEmpty else { return nil }
            let start = rest
            var word = Word(text: "")
            if rest.first == "-", rest.count > 1 {
                word.isNegated = true
                rest.removeFirst()
            }
            let name = rest.prefix { $0.isASCII && $0.isLetter }
            for (mark, how) in [(":", TextPattern.How.part), ("=:", .whole), ("~:", .expression)]
            where !name.isEmpty && rest.dropFirst(name.count).hasPrefix(mark) {
                word.key = String(name)
                word.how = how
                rest = rest.dropFirst(name.count + mark.count)
                break
            }
            word.value = try value()
            word.text = String(start.prefix(start.count - rest.count))
            return word
        }

        private mutating func value() throws(CommandError) -> String {
            guard let quote = rest.first, quote == "\"" || quote == "'" else {
                let value = rest.prefix { $0 != " " && $0 != "\t" }
                rest = rest.dropFirst(value.count)
                return String(value)
            }
            let begin = rest
            rest.removeFirst()
            var value = ""
            while let character = rest.popFirst() {
                if character == quote { return value }
                // Only a quote is escaped, so that an expression keeps its backslashes.
                if character == "\\", let next = rest.first, next == quote {
                    rest.removeFirst()
                    value.append(next)
                } else {
                    value.append(character)
                }
            }
            throw CommandError(
                .usage, "the query has no end of the quote that begins with \(String(begin.prefix(20)))")
        }
    }

    private static func term(_ word: Word) throws(CommandError) -> Term {
        func fault(_ why: String) -> CommandError {
            CommandError(.usage, "the query's term \(word.text.debugDescription) \(why)")
        }
        guard let name = word.key else {
            guard !word.value.isEmpty else { throw fault("is empty") }
            return Term(
                key: .line, isNegated: word.isNegated, test: .text(try TextPattern(word.value, .part)))
        }
        let names = Key.allCases.map(\.rawValue).filter { !$0.isEmpty }
        guard let key = Key(rawValue: name.lowercased()), key != .line else {
            let near = NearestNames.find(name, among: names, limit: 1, slips: 2)
            throw fault(
                "has an unknown key\(NearNames.question(near)) (keys are \(names.joined(separator: ", ")); "
                    + "for a text with a colon in it use quotes)")
        }
        guard !word.value.isEmpty else { throw fault("has no value") }
        let test: Test
        switch key {
        case .level:
            guard let level = LogLevel(name: word.value) else {
                throw fault("should name one of V D I W E F")
            }
            test = .level(level)
        case .age:
            guard let span = TimeSpan(argument: word.value) else {
                throw fault("should have a time such as 30s, 10m, 1h")
            }
            test = .age(span.milliseconds)
        case .kind:
            guard word.value.lowercased() == "failure" else { throw fault("should be is:failure") }
            test = .isFailure
        default: test = .text(try TextPattern(word.value, word.how))
        }
        return Term(key: key, isNegated: word.isNegated, test: test)
    }
}

/// What is looked for in a text.
///
/// `@unchecked Sendable`: `Regex` does not say that it is, but all here is constant, and matching changes nothing in it.
struct TextPattern: @unchecked Sendable {
    enum How: Sendable {
        /// A part, without regard to case.
        case part
        /// The whole text, as it stands.
        case whole
        /// A regular expression that a part fits.
        case expression
    }

    private enum Wanted {
        case part(String)
        case whole(String)
        case expression(Regex<AnyRegexOutput>)
    }

    private let wanted: Wanted

    /// - Throws: ``CommandError`` 64 when the regular expression is none.
    init(_ text: String, _ how: How) throws(CommandError) {
        switch how {
        case .part: wanted = .part(text.lowercased())
        case .whole: wanted = .whole(text)
        case .expression:
            do {
                wanted = .expression(try Regex(text).matchingSemantics(.unicodeScalar))
            } catch {
                throw CommandError(.usage, "\(text.debugDescription) is not a regular expression: \(error)")
            }
        }
    }

    func isIn(_ text: String) -> Bool {
        // No function here looks at characters, for a text of marks or flags would take seconds; and an agent's own
        // messages are no longer than this.
        let text = text.cut(to: LogEvent.maximumMessageBytes)
        return switch wanted {
        case .part(let part): text.lowercased().utf8.contains(part.utf8)
        case .whole(let whole): text.utf8.elementsEqual(whole.utf8)
        case .expression(let expression): text.contains(expression)
        }
    }
}

extension LogLevel {
    /// The level of a letter or a word, in any case: `W`, `warn`, `warning`.
    init?(name: String) {
        let words: [LogLevel: [String]] = [
            .verbose: ["verbose"], .debug: ["debug"], .info: ["info"], .warning: ["warn", "warning"],
            .error: ["error"], .fatal: ["fatal", "assert"],
        ]
        let word = name.lowercased()
        guard
            let level = LogLevel(letter: word.uppercased())
                ?? words.first(where: { $0.value.contains(word) })?.key
        else { return nil }
        self = level
    }
}
