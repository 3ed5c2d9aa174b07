#if Macros
import SwiftSyntax
import SwiftSyntaxMacros

/// Where a record would stand: there are places that can hold no constant of a section.
struct Surroundings {
    let isInType: Bool

    /// Nil, with a diagnostic at `node`, when no record can stand here.
    init?(
        of node: some SyntaxProtocol, declaration: (any DeclGroupSyntax)? = nil, named macro: String,
        byHand: String, in context: some MacroExpansionContext
    ) {
        let own = declaration.map { [Syntax($0)] } ?? []
        for place in own + context.lexicalContext {
            if let generic = place.asProtocol((any WithGenericParametersSyntax).self),
                generic.genericParameterClause != nil, place.asProtocol((any DeclGroupSyntax).self) != nil
            {
                let name = place.asProtocol((any NamedDeclSyntax).self)?.name.trimmedDescription ?? ""
                context.report(
                    "\(macro) cannot be used in a generic type: \(name) has no single set of static properties; "
                        + "register each specialisation by hand with \(byHand)", at: node)
                return nil
            }
            if place.is(ProtocolDeclSyntax.self) {
                context.report(
                    "\(macro) cannot be used in a protocol; put it on the types that conform to it", at: node)
                return nil
            }
            if place.asProtocol((any DeclGroupSyntax).self) == nil,
                !place.is(MacroExpansionDeclSyntax.self), !place.is(MacroExpansionExprSyntax.self)
            {
                context.report(
                    "\(macro) must be at file scope or in a type: a declaration in a function cannot be "
                        + "registered when the program is linked", at: node)
                return nil
            }
        }
        isInType = context.lexicalContext.contains { $0.asProtocol((any DeclGroupSyntax).self) != nil }
    }
}
#endif
