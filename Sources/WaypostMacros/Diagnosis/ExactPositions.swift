#if Macros
@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftDiagnostics
import SwiftSyntax
import Synchronization

/// Moves diagnostics to the character that they are about.
///
/// A plug-in reports to the compiler where a node begins and drops `Diagnostic.position`, so a fault in the middle of
/// a string literal could only be shown at its first character. This puts the distance back in the answer.
struct ExactPositions<Handler: PluginMessageHandler>: PluginMessageHandler {
    private let handler: Handler

    init(_ handler: Handler) {
        self.handler = handler
    }

    func handleMessage(_ message: HostToPluginMessage) -> PluginToHostMessage {
        let answer = handler.handleMessage(message)
        let distances = Distances.take()
        guard case .expandMacroResult(let source, var diagnostics) = answer, !distances.isEmpty else {
            return answer
        }
        for index in diagnostics.indices {
            diagnostics[index].position.offset += distances[diagnostics[index].message] ?? 0
        }
        return .expandMacroResult(expandedSource: source, diagnostics: diagnostics)
    }

    func shutDown() throws {
        try handler.shutDown()
    }
}

/// How far behind their nodes the diagnostics of this expansion are, by their text.
enum Distances {
    private static let distances = Mutex<[String: Int]>([:])

    static func note(_ diagnostic: Diagnostic) {
        let start = diagnostic.node.positionAfterSkippingLeadingTrivia
        let distance = diagnostic.position.utf8Offset - start.utf8Offset
        guard distance > 0 else { return }
        distances.withLock { $0[diagnostic.message] = distance }
    }

    static func take() -> [String: Int] {
        distances.withLock { distances in
            defer { distances = [:] }
            return distances
        }
    }
}
#endif
