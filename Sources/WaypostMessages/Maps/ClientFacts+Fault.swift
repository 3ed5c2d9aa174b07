package import Waypost

extension ClientFacts {
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
}
