#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// A context that keeps diagnostics to itself, for reading what another expansion reports.
final class SilentContext<Base: MacroExpansionContext>: MacroExpansionContext {
    private let base: Base

    init(_ base: Base) {
        self.base = base
    }

    func makeUniqueName(_ name: String) -> TokenSyntax { base.makeUniqueName(name) }

    func diagnose(_ diagnostic: Diagnostic) {}

    func location(
        of node: some SyntaxProtocol, at position: PositionInSyntaxNode,
        filePathMode: SourceLocationFilePathMode
    ) -> AbstractSourceLocation? {
        base.location(of: node, at: position, filePathMode: filePathMode)
    }

    var lexicalContext: [Syntax] { base.lexicalContext }
}
#endif
