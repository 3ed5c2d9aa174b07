/// A text for people, in the words of who shows it: a library speaks of its own interface, a tool of its options.
///
///     "the map is signed\(library: "; give the backend a signer", shell: "; sign the new one with --sign-key")"
package struct Wording: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// For a program that uses the library.
    package private(set) var library: String
    /// For someone at a command line.
    package private(set) var shell: String

    /// The same for both.
    package init(_ text: String) { (library, shell) = (text, text) }
    package init(stringLiteral text: String) { self.init(text) }
    package init(stringInterpolation parts: StringInterpolation) { self = parts.wording }

    package static func + (one: Self, other: Self) -> Self {
        var sum = one
        sum.library += other.library
        sum.shell += other.shell
        return sum
    }

    package static func += (one: inout Self, other: Self) { one = one + other }

    /// The parts of a text.
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var wording = Wording("")

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ text: String) { wording += Wording(text) }

        package mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            wording += Wording(value.description)
        }

        package mutating func appendInterpolation(_ part: Wording) { wording += part }

        /// What only one of them is told, or each in its own words.
        package mutating func appendInterpolation(library: String = "", shell: String) {
            wording.library += library
            wording.shell += shell
        }
    }
}
