import ArgumentParser
import Waypost

struct ExplainCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Print what a code in a reply or a failure report means, and what to do.",
        discussion: """
            All codes, and what each check of health means, stand in the guide to operating: \
            Sources/WaypostAgent/WaypostAgent.docc/Operating.md.

            Examples:
              waypost explain 404
              waypost explain NO_ROUTE
              waypost explain            # all codes
            """)

    @Argument(
        help: "The number or the name of a code; all unless given.",
        completion: .list(CodeExplanation.all.map(\.code.name)))
    var code: String?

    @OptionGroup
    var output: OutputOptions

    func perform() async throws {
        let found = code.map(CodeExplanation.find) ?? CodeExplanation.all
        guard !found.isEmpty else {
            let near = NearestNames.find(code ?? "", among: CodeExplanation.all.map(\.code.name))
            throw CommandError(
                .usage, "explain \(code ?? ""): there is no such code\(NearNames.question(near))")
        }
        for explanation in found {
            if output.isJSON {
                Terminal.print(json: explanation.json)
            } else if code == nil {
                Terminal.print("\(explanation.code): \(explanation.meaning)")
            } else {
                for line in explanation.lines(output.style) { Terminal.print(line) }
            }
        }
    }
}
