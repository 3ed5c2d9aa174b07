#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// A mistake in the use of a macro, in a sentence that says what to do.
struct MacroFault: DiagnosticMessage, FixItMessage {
    let message: String
    var severity: DiagnosticSeverity = .error

    init(_ message: String) {
        self.message = message
    }

    var diagnosticID: MessageID { MessageID(domain: "Waypost", id: "macro") }
    var fixItID: MessageID { diagnosticID }
}

extension MacroExpansionContext {
    /// Reports a mistake at a node, or at a position inside it.
    func report(
        _ message: String, at node: some SyntaxProtocol, position: AbsolutePosition? = nil,
        fixIts: [FixIt] = []
    ) {
        let diagnostic = Diagnostic(
            node: node, position: position, message: MacroFault(message), fixIts: fixIts)
        Distances.note(diagnostic)
        diagnose(diagnostic)
    }
}
#endif
