import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct NavigateCommand: RequestVerb {
    static let configuration = CommandConfiguration(
        commandName: "navigate",
        abstract: "Go back, or to another tab, in an agent's navigation, and print what is shown.",
        discussion: """
            back removes the screen in front, dismiss closes the modal in front, popToRoot goes back to the root of the \
            tab, and showTab brings another tab to the front. What is shown is also kept on the agent's topic navigation. \
            To open a screen with its parent pages under it: waypost open URL --param route_parents=true.

            Examples:
              waypost navigate back --agent k1
              waypost navigate showTab --tab 1 --agent k1
              waypost navigate popToRoot --group lobby
            """)

    @Argument(help: "back, dismiss, popToRoot or showTab.", completion: .list(NavigationMove.names))
    var action: String

    @Option(help: ArgumentHelp("The tab for showTab, from 0.", valueName: "number"))
    var tab: Int?

    func validate() throws {
        guard NavigationMove.names.contains(action) else {
            let near = NearestNames.find(action, among: NavigationMove.names, limit: 1)
            throw ValidationError("there is no action \(action)\(NearestNames.question(near))")
        }
        guard (action == "showTab") == (tab != nil), (0...1_000).contains(tab ?? 0) else {
            throw ValidationError("showTab needs --tab NUMBER (0-based); other actions do not take it")
        }
    }

    func operation() throws -> Command.Operation {
        guard let move = NavigationMove(name: action, tab: tab) else {
            throw CommandError(.usage, "there is no action \(action)")
        }
        return .navigate(move)
    }

    func lines(_ answer: CommandReply, _ style: Style) -> [TerminalText] {
        let result = answer.reply.result
        guard answer.isOK, let shown = result["navigation"] else {
            return ReplyText(style: style).lines(answer)
        }
        let moved = result["moved"] == true ? "" : ", nothing changed"
        return ["\(style.green("ok")): \(answer.agent)\(moved)"] + NavigationText.lines(shown)
    }
}

/// What is shown, for people.
enum NavigationText {
    /// The most stacks that are printed.
    private static let maximum = 100

    static func lines(_ state: JSONValue) -> [TerminalText] {
        func names(_ stack: JSONValue) -> String {
            let names = stack.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
            return names.isEmpty ? "nothing yet" : names.joined(separator: " > ")
        }
        let tabs = state["tabs"]?.arrayValue ?? []
        let selected = state["selected"]?.boundedInt
        var lines: [TerminalText] = tabs.prefix(maximum).enumerated().map { number, stack in
            let mark = tabs.count > 1 && Int64(number) == selected ? " (in front)" : ""
            return "  \(tabs.count > 1 ? "tab \(number)\(mark)" : "shown"): \(names(stack))"
        }
        lines += (state["modals"]?.arrayValue ?? []).prefix(maximum).map { "  modal: \(names($0))" }
        return lines
    }
}
