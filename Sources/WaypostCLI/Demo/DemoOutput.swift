import Waypost
import WaypostBackend
import WaypostMessages

/// How the demo is shown: line by line for people, a JSON line for each step for programs.
struct DemoOutput {
    var isJSON: Bool
    var style: Style

    func title(_ text: String) { tell("") { style.bold(TerminalText(text)) } }

    func say(_ text: TerminalText) { tell(nil) { text } }

    func step(_ caption: String) { tell(nil) { "  \(style.cyan("->")) \(caption)" } }

    func reply(_ reply: Reply) {
        tell(nil) {
            let text = reply.detail ?? Self.short(reply.result)
            let code = reply.code == .ok ? "" : " \(reply.code)"
            return
                "  \(style.cyan("<-")) \(style.status(reply.status))\(code), \(reply.milliseconds) ms: \(text)"
        }
    }

    func log(_ line: AgentEvent) {
        tell(nil) { "     \(line.text(.threadtime, style, agentWidth: nil))" }
    }

    func failure(_ line: AgentEvent) { log(line) }

    func state(_ state: AgentState) {
        tell(nil) {
            style.dim("     the agent is \(state.isOnline ? "online" : "offline") (\(state.reason.rawValue))")
        }
    }

    func result(_ result: RelocationAnswer) {
        tell(nil) {
            guard let refusal = result.refusal else {
                return
                    "  \(style.cyan("<-")) \(style.green("applied")): \(result.entries.counted("entry", "entries")) in force"
            }
            return "  \(style.cyan("<-")) \(style.red("refused")) \(refusal.code): \(refusal.detail)"
        }
    }

    /// A step that is over; `unexpected` says what was not as expected.
    func ended(_ step: DemoStep, unexpected: String?) {
        if isJSON {
            var line: [String: JSONValue] = ["step": .string(step.caption), "ok": .bool(unexpected == nil)]
            if let unexpected { line["unexpected"] = .string(unexpected) }
            Terminal.print(json: .object(line))
        } else if let unexpected {
            Terminal.print("     \(style.red("NOT AS EXPECTED")): \(unexpected)")
        }
    }

    private func tell(_ before: TerminalText?, _ text: () -> TerminalText) {
        guard !isJSON else { return }
        if let before { Terminal.print(before) }
        Terminal.print(text())
    }

    /// The result in a few words.
    private static func short(_ result: JSONValue) -> String {
        if let screen = result["value"]?["screen"] {
            return "\(screen.stringValue ?? "") with \(result["value"]?["params"] ?? .null)"
        }
        return (result["value"] ?? result).text
    }
}
