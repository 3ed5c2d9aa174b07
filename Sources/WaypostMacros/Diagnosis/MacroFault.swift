#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// A mistake in the use of a macro, in a sentence that says what to do.
struct MacroFault: DiagnosticMessage, FixItMessage {
    let message: String
    let severity: DiagnosticSeverity

    init(_ message: String, severity: DiagnosticSeverity = .error) {
        self.message = message
        self.severity = severity
    }

    var diagnosticID: MessageID { MessageID(domain: "Waypost", id: "macro") }
    var fixItID: MessageID { diagnosticID }
}

extension MacroExpansionContext {
    /// Reports a mistake at a node, or at a position inside it.
    func report(
        _ message: String, at node: some SyntaxProtocol, position: AbsolutePosition? = nil,
        fixIts: [FixIt] = [], severity: DiagnosticSeverity = .error
    ) {
        let diagnostic = Diagnostic(
            node: node, position: position, message: MacroFault(message, severity: severity), fixIts: fixIts)
        Distances.note(diagnostic)
        diagnose(diagnostic)
    }
}
#endif
