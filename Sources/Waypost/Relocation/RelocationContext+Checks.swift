extension RelocationContext {
    /// Whether conditions can compare this with a version: numbers between dots, like `2.4.1` or `2.5.0-beta.1`.
    package static func isVersion(_ text: String) -> Bool { AppVersion(text) != nil }

    /// What is said of a build that conditions can't compare; nil for a version, and when it is not known.
    package var buildFault: String? {
        guard let build, !Self.isVersion(build) else { return nil }
        return "the build \(build.cut(to: 64)) of this client is no version like 2.4.1: no map entry with a "
            + "condition on it applies"
    }

    /// Whether conditions can compare this with a language: `de`, `de-AT`, `zh-Hans-CN`, `de_AT.UTF-8`.
    ///
    /// `C` and `POSIX`, a system's names for none, are no language.
    package static func isLocale(_ text: String) -> Bool {
        let subtags = RelocationCondition.subtags(text)
        guard let language = subtags.first, (2...8).contains(language.utf8.count), language != "posix" else {
            return false
        }
        return language.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
            && subtags.dropFirst().allSatisfy { subtag in
                (1...8).contains(subtag.utf8.count)
                    && subtag.utf8.allSatisfy {
                        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 &- 0x30 < 10
                    }
            }
    }
}
