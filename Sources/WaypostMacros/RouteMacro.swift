#if Macros
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `#route("pattern", …) { request in … }`: a record that registers a closure.
struct RouteMacro: DeclarationMacro {
    private static let passed = [
        "name", "priority", "kind", "takesDeeper", "idempotent", "redirect", "handler",
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
        guard let handler = rest["handler"] else {
            context.report("a route needs a handler: #route(\"…\") { request in … }", at: node)
            return []
        }
        rest["handler"] = "handler"
        return [
            RecordSyntax.record(
                name: context.makeUniqueName("route"), isInType: place.isInType,
                statements: ["let handler: Waypost::Route.Handler = \(handler)"],
                declarations: patterns.expressions.map { "Waypost::Route(\($0)\(rest.behind))" })
        ]
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
