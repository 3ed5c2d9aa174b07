#if Macros
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `#route("pattern", …) { request in … }`: a record that registers a closure.
struct RouteMacro: DeclarationMacro {
    private static let passed = [
        "name", "priority", "kind", "takesDeeper", "idempotent", "jumpType", "metadata", "defaults",
        "parameters", "redirect", "handler",
    ]

    static func expansion(
        of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard
            let place = Surroundings(
                of: node, named: "#route", byHand: "router.register(\"…\") { … }", in: context),
            let patterns = PatternArguments(node.arguments, of: node, in: context)
        else { return [] }
        var rest = PassedArguments(node.arguments, labels: passed)
        rest["kind"] = rest["kind"] ?? ".action"
        takeTrailingClosures(of: node, into: &rest)
        let action = action(of: node)
        let handler =
            rest["handler"] ?? action.map { _ in "{ try await action($0.parameters); return .opened() }" }
        guard let handler else {
            context.report("a route needs a handler: #route(\"…\") { request in … }", at: node)
            return []
        }
        rest["handler"] = "handler"
        return [
            RecordSyntax.record(
                name: context.makeUniqueName("route"), isInType: place.isInType,
                statements: (action.map {
                    ["let action: @Sendable (Waypost::RouteParameters) async throws -> Void = \($0)"]
                } ?? []) + ["let handler: Waypost::Route.Handler = \(handler)"],
                declarations: patterns.expressions.map { "Waypost::Route(\($0)\(rest.behind))" })
        ]
    }

    /// ReerRouter's `action:`, which gets the parameters and returns nothing.
    private static func action(of node: some FreestandingMacroExpansionSyntax) -> String? {
        let trailing = node.additionalTrailingClosures.first { $0.label.text == "action" }
        let argument = node.arguments.first { $0.label?.text == "action" }
        return trailing?.closure.trimmedDescription ?? argument?.expression.trimmedDescription
    }

    /// The last trailing closure is the handler; one before it is the redirect.
    private static func takeTrailingClosures(
        of node: some FreestandingMacroExpansionSyntax, into arguments: inout PassedArguments
    ) {
        for closure in node.additionalTrailingClosures {
            arguments[closure.label.text] = closure.closure.trimmedDescription
        }
        guard let first = node.trailingClosure else { return }
        arguments[arguments["handler"] == nil ? "handler" : "redirect"] = first.trimmedDescription
    }
}
#endif
