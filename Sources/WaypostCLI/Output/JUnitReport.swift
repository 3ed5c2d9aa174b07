import WaypostBackend

/// Tests as JUnit's XML, which most CI systems show.
struct JUnitReport {
    /// One test.
    struct Test {
        var name: String
        /// Why it failed; nil when it passed.
        var failure: Failure?
        var place: FilePlace?
    }

    /// Why a test failed.
    struct Failure {
        /// A word for failures of this kind.
        var type: String
        /// One line.
        var message: String
        /// All that is known.
        var text: String
    }

    /// The tests of one file.
    struct Suite {
        var name: String
        var tests: [Test]
        /// What else to say.
        var notes: [String] = []

        var failures: Int { tests.count { $0.failure != nil } }
    }

    var name: String
    var suites: [Suite]

    var text: String {
        let tests = suites.reduce(0) { $0 + $1.tests.count }
        let failures = suites.reduce(0) { $0 + $1.failures }
        let head = Self.tag(
            "testsuites", [("name", name), ("tests", "\(tests)"), ("failures", "\(failures)")])
        return
            (["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", head] + suites.flatMap(lines) + ["</testsuites>"])
            .joined(separator: "\n")
    }

    private func lines(_ suite: Suite) -> [String] {
        let head = Self.tag(
            "testsuite",
            [("name", suite.name), ("tests", "\(suite.tests.count)"), ("failures", "\(suite.failures)")])
        var lines = ["  \(head)"] + suite.tests.map { line($0, in: suite) }
        if !suite.notes.isEmpty {
            lines.append(
                "    <system-out>\(XMLText.content(suite.notes.joined(separator: "\n")))</system-out>")
        }
        return lines + ["  </testsuite>"]
    }

    private func line(_ test: Test, in suite: Suite) -> String {
        let head = Self.tag(
            "testcase",
            [
                ("name", test.name), ("classname", suite.name), ("file", test.place?.file),
                ("line", test.place?.line.map(String.init)),
            ])
        guard let failure = test.failure else { return "    \(head)</testcase>" }
        let open = Self.tag("failure", [("type", failure.type), ("message", failure.message)])
        return "    \(head)\(open)\(XMLText.content(failure.text))</failure></testcase>"
    }

    private static func tag(_ name: String, _ attributes: [(String, String?)]) -> String {
        let list = attributes.compactMap { name, value in
            value.map { " \(name)=\"\(XMLText.attribute($0))\"" }
        }
        return "<\(name)\(list.joined())>"
    }
}
