#if Macros
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Exposed` on a method: a function that `@Service` lists, with what it takes to call the method from outside.
///
/// It stands beside the method and not in the record, so that a type that is not Codable is an error at the method.
struct ExposedMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let type = service(around: node, context),
            let method = ExposedMethod(declaration, attribute: node, in: context)
        else { return [] }
        let caller = method.takesContext ? ["context: Waypost::OpenContext"] : []
        let closureParameters =
            (["service: \(type)"] + caller + method.parameters.map { "\($0.name): \($0.decoded)" })
            .joined(separator: ", ")
        // Whether the call is isolated, asynchronous or throwing cannot be seen from here; `calling` is all of it,
        // so that neither `try` nor `await` is ever too much.
        return [
            """
            private nonisolated static func \(raw: method.factoryDeclaration) -> Waypost::Exposed<\(raw: type)> {
                Waypost::Exposed(\(literal: method.fullName)\(raw: method.settings)) { \
            (\(raw: closureParameters)) async throws -> \(raw: method.result) in
                    try await Waypost::Exposed.calling(service).\(raw: method.baseName)(\(raw: method.call(in: type)))
                }
            }
            """
        ] + method.standards.map { "\(raw: $0)" }
    }

    /// The type whose body the method stands in, when it is a service.
    private static func service(
        around node: AttributeSyntax, _ context: some MacroExpansionContext
    ) -> String? {
        guard let place = context.lexicalContext.first,
            let group = place.asProtocol((any DeclGroupSyntax).self)
        else {
            context.report("@Exposed belongs on a method of a type with @Service", at: node)
            return nil
        }
        guard !place.is(ExtensionDeclSyntax.self) else {
            context.report(
                "@Exposed must be in the body of the type: @Service does not see extensions", at: node)
            return nil
        }
        guard group.attributes.first(named: "Service") != nil else {
            context.report("@Exposed has no effect without @Service on the type", at: node)
            return nil
        }
        return place.asProtocol((any NamedDeclSyntax).self)?.name.trimmedDescription
    }
}

extension AttributeListSyntax {
    /// The attribute of this name, with or without its module.
    func first(named name: String) -> AttributeSyntax? {
        lazy.compactMap { $0.as(AttributeSyntax.self) }.first { attribute in
            attribute.attributeName.lastToken(viewMode: .sourceAccurate)?.text == name
        }
    }
}
#endif
