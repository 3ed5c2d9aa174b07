#if Macros
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Routable("pattern", …)` on a type: a record that registers it, and the conformance.
struct RoutableMacro: MemberMacro, ExtensionMacro {
    private static let passed = [
        "name", "priority", "kind", "takesDeeper", "idempotent", "jumpType", "metadata", "defaults",
        "parameters", "redirect",
    ]

    static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let type = typeName(of: declaration, node, context) else { return [] }
        let arguments = node.arguments?.as(LabeledExprListSyntax.self)
        guard
            Surroundings(
                of: node, declaration: declaration, named: "@Routable",
                byHand: "Route(\"…\", to: \(type)<…>.self)", in: context) != nil,
            let patterns = PatternArguments(arguments, of: node, in: context),
            PageProperties(declaration)?.fit(patterns, in: context) != false
        else {
            // The type still opens: one mistake is one error.
            return isFirst(node, on: declaration) ? [PageSyntax(declaration)?.open].compactMap(\.self) : []
        }
        let rest = PassedArguments(arguments, labels: passed).behind
        let record = RecordSyntax.record(
            name: context.makeUniqueName("routes"), isInType: true,
            declarations: patterns.expressions.map { "Waypost::Route(\($0), to: \(type).self\(rest))" })
        guard isFirst(node, on: declaration), let page = PageSyntax(declaration) else { return [record] }
        return [record, page.open]
    }

    private static func typeName(
        of declaration: some DeclGroupSyntax, _ node: AttributeSyntax, _ context: some MacroExpansionContext
    ) -> String? {
        if declaration.is(ExtensionDeclSyntax.self) {
            context.report("@Routable belongs on the type itself, not on an extension of it", at: node)
            return nil
        }
        return declaration.asProtocol((any NamedDeclSyntax).self)?.name.trimmedDescription
    }

    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        // `protocols` is empty when the type or its superclass conforms already. What is in it has to be delivered,
        // also after a diagnostic: the compiler of 6.3 crashes on the subclass of a class that broke the promise.
        guard !protocols.isEmpty, isFirst(node, on: declaration) else { return [] }
        return [try ExtensionDeclSyntax("extension \(type.trimmed): Waypost::Routable {}")]
    }

    /// Whether this is the first of several `@Routable` on the type: one is enough for the conformance.
    private static func isFirst(_ node: AttributeSyntax, on declaration: some DeclGroupSyntax) -> Bool {
        let name = node.attributeName.trimmedDescription
        let same = declaration.attributes.compactMap { $0.as(AttributeSyntax.self) }
            .filter { $0.attributeName.trimmedDescription == name }
        return same.count < 2 || same.first?.trimmedDescription == node.trimmedDescription
    }
}
#endif
