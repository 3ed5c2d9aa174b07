import Waypost
import WaypostMessages

/// What the conditions of maps ask about this client, beside its name and the time.
public struct ClientFacts: Sendable, Hashable {
    /// The version of the app, like `2.4.1`; nil, the default, leaves what the router knows.
    public var build: String?
    /// The language and region, like `de-AT`, or as the system has them, `de_AT.UTF-8`; nil, the default, leaves what the router knows.
    public var locale: String?
    /// The client's labels, like `region` = `eu`, beside those that the router knows; at most 32.
    public var labels: [String: String]

    /// The most labels.
    static let maximumLabels = 32
    /// The longest value, in bytes: that of a condition.
    static let maximumBytes = 128

    /// Facts by their parts.
    public init(build: String? = nil, locale: String? = nil, labels: [String: String] = [:]) {
        self.build = build
        self.locale = locale
        self.labels = labels
    }

    /// What is wrong with them; nil when nothing is.
    package var fault: String? {
        guard labels.count <= Self.maximumLabels else {
            return "there are \(labels.count) labels, at most \(Self.maximumLabels) are allowed"
        }
        for (name, value) in labels.sorted(by: { $0.key < $1.key }) {
            guard Name.isValid(name) else {
                return "label \(name.quoted): a name must be 1 to 64 characters of A-Z a-z 0-9 _ -"
            }
            guard Self.isValid(value) else {
                return
                    "label \(name): a value must be 1 to \(Self.maximumBytes) bytes without control characters or outer white space"
            }
        }
        for (name, value) in [("build", build), ("locale", locale)] {
            guard let value, !Self.isValid(value) else { continue }
            return
                "\(name) \(value.quoted) must be 1 to \(Self.maximumBytes) bytes without control characters or outer white space"
        }
        // What a condition could not compare would match none of them, without a word.
        if let build, !RelocationContext.isVersion(build) {
            return "build \(build.quoted) must be a version like 2.4.1"
        }
        if let locale, !RelocationContext.isLocale(locale) {
            return "locale \(locale.quoted) must be a language, with or without a region: de or de-AT"
        }
        return nil
    }

    private static func isValid(_ value: String) -> Bool {
        (1...maximumBytes).contains(value.utf8.count) && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
            && value.first?.isWhitespace == false && value.last?.isWhitespace == false
    }

    /// Lays them over what a router knows already.
    func apply(to context: inout RelocationContext) {
        if let build { context.build = build }
        if let locale { context.locale = locale }
        context.labels.merge(labels) { _, new in new }
    }
}
