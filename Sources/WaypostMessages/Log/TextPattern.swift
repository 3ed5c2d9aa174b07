package import Waypost

/// What is looked for in a text.
package struct TextPattern: Sendable {
    package enum How: Sendable {
        /// A part, without regard to case.
        case part
        /// The whole text, as it stands.
        case whole
        /// A regular expression that a part fits.
        case expression
    }

    private enum Wanted: Sendable {
        case part(String)
        case whole(String)
        case expression(RegularExpression)
    }

    private let wanted: Wanted

    /// - Throws: ``Failure`` 422 when the regular expression is none.
    package init(_ text: String, _ how: How) throws(Failure) {
        switch how {
        case .part: wanted = .part(text.lowercased())
        case .whole: wanted = .whole(text)
        case .expression:
            do {
                wanted = .expression(try RegularExpression(text))
            } catch {
                throw Failure(.badField, "\(text.quoted) is not a regular expression: \(error.detail)")
            }
        }
    }

    /// Whether it is a regular expression: an agent evaluates none.
    var isExpression: Bool {
        if case .expression = wanted { true } else { false }
    }

    package func isIn(_ text: String) -> Bool {
        // No function here looks at characters, for a text of marks or flags would take seconds; and an agent's own
        // messages are no longer than this.
        let text = text.cut(to: LogEvent.maximumMessageBytes)
        return switch wanted {
        case .part(let part): text.lowercased().utf8.contains(part.utf8)
        case .whole(let whole): text.utf8.elementsEqual(whole.utf8)
        case .expression(let expression): expression.isIn(text)
        }
    }
}
