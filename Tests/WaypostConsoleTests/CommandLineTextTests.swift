import TestSupport
import Testing
import WaypostBackend

@testable import WaypostConsole

/// The line for the shell that a page shows.
@Suite struct CommandLineTextTests {
    @Test(arguments: [
        "plain", "", "it's", "a b", "$(touch x)", "`x`", "a\"b\\c", "ünï", "--x", "*", "a;b", "a\nb",
        "a'\u{301}; touch x; '\u{301}", "'\u{20E3}", "'\u{200D}'",
    ])
    func `a shell reads each word as it was`(_ word: String) async throws {
        let ending = try await Tool.run("sh", ["-c", "printf %s \(CommandLineText.quoted(word))"])
        #expect(ending.output == word)
    }

    @Test func `only what is not usual is named`() throws {
        let usual = try BackendConfiguration(broker: "mqtt://127.0.0.1:1883", name: "ops")
        #expect(
            CommandLineText(["ping", "--agent", "k1"], broker: usual).text
                == "waypost ping --agent k1 --as ops")
        let other = try BackendConfiguration(
            broker: "mqtts://broker.example:8884", name: "ops", root: "shop/v1")
        #expect(
            CommandLineText(["open", "kiosk://a?b=c&d"], broker: other).text
                == "waypost open 'kiosk://a?b=c&d' --broker mqtts://broker.example:8884 --root shop/v1 --as ops"
        )
    }
}
