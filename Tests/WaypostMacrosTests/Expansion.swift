#if Macros
import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

@testable import WaypostMacros

/// What becomes of a source when its macros are expanded, without a compiler.
struct Expansion {
    /// The source with what the macros made.
    let text: String
    /// What was reported, as `line:column: message`.
    let diagnostics: [String]
    /// The texts of the fix-its.
    let fixIts: [String]

    private static let macros: [String: MacroSpec] = [
        "Routable": MacroSpec(type: RoutableMacro.self, conformances: ["Routable"]),
        "route": MacroSpec(type: RouteMacro.self),
        "Service": MacroSpec(type: ServiceMacro.self, conformances: ["Sendable"]),
        "Exposed": MacroSpec(type: ExposedMacro.self),
    ]

    init(of source: String) {
        let file = Parser.parse(source: source)
        let context = BasicMacroExpansionContext(
            sourceFiles: [file: .init(moduleName: "App", fullFilePath: "App.swift")])
        let expanded = file.expand(
            macroSpecs: Self.macros,
            contextGenerator: { node in
                BasicMacroExpansionContext(
                    sharingWith: context, lexicalContext: node.allMacroLexicalContexts())
            }, indentationWidth: .spaces(4))
        // Where an attribute stood in a line of its own, the end of the line stays.
        text = String(expanded.description.drop { $0.isNewline })
        diagnostics = context.diagnostics.map { diagnostic in
            let place = context.location(
                for: diagnostic.position, anchoredAt: diagnostic.node, fileName: "App.swift")
            return "\(place.line):\(place.column): \(diagnostic.message)"
        }
        fixIts = context.diagnostics.flatMap(\.fixIts).map(\.message.message)
    }
}
#endif
