#if Macros
import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Service` on a class, actor or structure: a record that registers it with its exposed methods.
struct ServiceMacro: MemberMacro, ExtensionMacro {
    static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard canBeService(declaration),
            let type = declaration.asProtocol((any NamedDeclSyntax).self)?.name.trimmedDescription
        else { return [] }
        let making = ServiceMaking(of: declaration, named: type, in: context)
        let methods = methods(of: declaration, in: context)
        guard
            Surroundings(
                of: node, declaration: declaration, named: "@Service",
                byHand: "ExposedService(\"…\", make: \(type)<…>.init) { … }", in: context) != nil,
            let making, let methods, let naming = ServiceNaming(node, type: type, in: context)
        else { return [] }
        if !naming.hasInterface, !declaration.memberBlock.members.contains(where: \.decl.isExposed) {
            context.report(
                "\(type) exposes nothing: no method can be called from outside until it has @Exposed",
                at: node,
                severity: .warning)
        }
        let listed = methods.map { "            \(type).\($0.factoryCall)\n" }.joined()
        return [
            RecordSyntax.record(
                name: context.makeUniqueName("service"), isInType: true,
                declarations: [
                    """
                    Waypost::ExposedService(\(naming.arguments), make: \(making.closure)\(naming.conversion)) {
                    \(listed)        }
                    """
                ])
        ]
    }

    /// Makes the type `Sendable`, for a service is used from every thread.
    ///
    /// Said in an extension, what keeps the type from it is an error at the property that does, and not one in every
    /// expansion.
    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard canBeService(declaration) else {
            // Not where members are made: those of an enumeration are not asked for.
            context.report("@Service belongs on a class, an actor or a structure", at: node)
            return []
        }
        guard !protocols.isEmpty else { return [] }
        return [try ExtensionDeclSyntax("extension \(type.trimmed): Sendable {}")]
    }

    private static func canBeService(_ declaration: some DeclGroupSyntax) -> Bool {
        [.classDecl, .actorDecl, .structDecl].contains(declaration.kind)
    }

    /// The exposed methods; nil, with a diagnostic, when two answer to one name.
    ///
    /// What is wrong with a single one is said by `@Exposed`, which is expanded on its own.
    private static func methods(
        of declaration: some DeclGroupSyntax, in context: some MacroExpansionContext
    ) -> [ExposedMethod]? {
        var methods: [ExposedMethod] = []
        for member in declaration.memberBlock.members {
            guard let function = member.decl.as(FunctionDeclSyntax.self),
                let attribute = function.attributes.first(named: "Exposed")
            else { continue }
            let silent = SilentContext(context)
            guard let method = ExposedMethod(function, attribute: attribute, in: silent) else { return nil }
            guard !methods.contains(where: { $0.fullName == method.fullName }) else {
                context.report(
                    "two exposed methods are named \(method.fullName); change the labels of one",
                    at: function.name)
                return nil
            }
            methods.append(method)
        }
        return methods
    }
}

extension DeclSyntax {
    /// Whether it is marked, rightly or not.
    fileprivate var isExposed: Bool {
        asProtocol((any WithAttributesSyntax).self)?.attributes.first(named: "Exposed") != nil
    }
}

/// How an instance is made: through the initializer that needs no arguments, or the one that takes the registry.
private struct ServiceMaking {
    let closure: String

    init?(of declaration: some DeclGroupSyntax, named type: String, in context: some MacroExpansionContext) {
        let initializers = declaration.memberBlock.members.compactMap {
            $0.decl.as(InitializerDeclSyntax.self)
        }
        guard
            let initializer = initializers.first(where: \.needed.isEmpty)
                ?? initializers.first(where: \.takesRegistry)
        else {
            guard let first = initializers.first else {
                closure = "{ \(type)() }"
                return
            }
            context.report(
                "a service needs an initializer without arguments, or init(services: ServiceRegistry) to take others "
                    + "from the registry; or register it by hand with "
                    + "ExposedService(\"…\", make: { … })", at: first.initKeyword)
            return nil
        }
        let effects = initializer.signature.effectSpecifiers
        guard effects?.asyncSpecifier == nil else {
            context.report(
                "a service is created synchronously at its first use; the initializer cannot be async",
                at: initializer.initKeyword)
            return nil
        }
        guard initializer.optionalMark == nil else {
            context.report(
                "the initializer of a service cannot be failable; let it throw instead",
                at: initializer.initKeyword)
            return nil
        }
        guard !Self.isOnMainActor(initializer, of: declaration) else {
            let start = initializer.initKeyword.positionAfterSkippingLeadingTrivia
            let fixIt = FixIt(
                message: MacroFault("insert 'nonisolated'"),
                changes: [
                    .replaceText(
                        range: start..<start, with: "nonisolated ", in: Syntax(initializer.initKeyword))
                ])
            context.report(
                "a service can be created on any thread; the initializer must be nonisolated",
                at: initializer.initKeyword, fixIts: [fixIt])
            return nil
        }
        let made = initializer.needed.isEmpty ? "\(type)()" : "\(type)(services: $0)"
        closure = effects?.throwsClause == nil ? "{ \(made) }" : "{ try \(made) }"
    }

    private static func isOnMainActor(
        _ initializer: InitializerDeclSyntax, of declaration: some DeclGroupSyntax
    ) -> Bool {
        if initializer.modifiers.contains(where: { $0.name.text == "nonisolated" }) { return false }
        return initializer.attributes.first(named: "MainActor") != nil
            || declaration.attributes.first(named: "MainActor") != nil
    }
}

extension InitializerDeclSyntax {
    /// The parameters that a call has to give.
    fileprivate var needed: [FunctionParameterSyntax] {
        signature.parameterClause.parameters.filter { $0.defaultValue == nil }
    }

    /// `init(services: ServiceRegistry)`.
    fileprivate var takesRegistry: Bool {
        let needed = needed
        return needed.count == 1 && needed[0].firstName.text == "services"
            && needed[0].type.lastToken(viewMode: .sourceAccurate)?.text == "ServiceRegistry"
    }
}

/// Under which name and type a service is registered.
private struct ServiceNaming {
    /// The arguments before `make:`.
    let arguments: String
    /// What stands behind `make:` when it is fetched by a protocol.
    let conversion: String

    /// Whether it is fetched by a protocol, for which nothing has to be exposed.
    var hasInterface: Bool { !conversion.isEmpty }

    init?(_ node: AttributeSyntax, type: String, in context: some MacroExpansionContext) {
        let given = node.arguments?.as(LabeledExprListSyntax.self)
        let name = given?.first { $0.label == nil }?.expression
        if let literal = name?.as(StringLiteralExprSyntax.self), literal.representedLiteralValue == "" {
            context.report("a service needs a name", at: literal)
            return nil
        }
        let lifetime = PassedArguments(given, labels: ["lifetime"]).behind
        guard let interface = given?.first(where: { $0.label?.text == "as" })?.expression else {
            arguments = (name?.trimmedDescription ?? "\"\(type)\"") + lifetime
            conversion = ""
            return
        }
        arguments =
            (name?.trimmedDescription ?? "\"\(Self.typeName(in: interface))\"")
            + ", as: \(interface.trimmedDescription)\(lifetime)"
        conversion = ", convert: { $0 }"
    }

    /// `P` of `(any Module.P).self`.
    private static func typeName(in expression: ExprSyntax) -> String {
        let names = expression.tokens(viewMode: .sourceAccurate).compactMap { token -> String? in
            if case .identifier(let name) = token.tokenKind { name } else { nil }
        }
        return names.last { $0 != "self" } ?? expression.trimmedDescription
    }
}
#endif
