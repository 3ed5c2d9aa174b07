#if Macros
import SwiftSyntax
import SwiftSyntaxBuilder

/// A type that makes an instance of itself from a request, opens nothing by itself and is no `RoutablePage`.
///
/// It gets the `open` that `RoutablePage` has, for a macro cannot choose which conformance to add: the compiler of
/// 6.3 crashes on subclasses when one that was announced stays away.
struct PageSyntax {
    private let initializer: InitializerDeclSyntax
    private let opened: FunctionDeclSyntax?
    private let access: String
    private let isActor: Bool

    /// Nil when the type is something else.
    init?(_ declaration: some DeclGroupSyntax) {
        let inherited = declaration.inheritanceClause?.inheritedTypes.map(\.type.trimmedDescription) ?? []
        guard !inherited.contains(where: { $0.hasSuffix("RoutablePage") }) else { return nil }
        let members = declaration.memberBlock.members.map(\.decl)
        let functions = members.compactMap { $0.as(FunctionDeclSyntax.self) }
        guard !functions.contains(where: { $0.name.text == "open" && $0.isStatic }) else { return nil }
        let initializers = members.compactMap { $0.as(InitializerDeclSyntax.self) }
        guard let initializer = initializers.first(where: \.takesRequest) else { return nil }
        self.initializer = initializer
        opened = functions.first {
            $0.name.text == "opened" && !$0.isStatic && $0.signature.parameterClause.parameters.isEmpty
        }
        let modifiers = declaration.modifiers.map(\.name.text)
        access =
            modifiers.contains("public") || modifiers.contains("open")
            ? "public " : modifiers.contains("package") ? "package " : ""
        isActor = declaration.is(ActorDeclSyntax.self)
    }

    /// `static func open`, which creates a page and calls its `opened()`.
    var open: DeclSyntax {
        let effects = Self.effects(initializer.signature.effectSpecifiers, isIsolated: false)
        let page = "\(effects)Self(from: request)"
        let made =
            initializer.optionalMark == nil
            ? "let page = \(page)" : "guard let page = \(page) else { return .pass }"
        let answer: String
        if let opened {
            let isIsolated = isActor && !opened.modifiers.contains { $0.name.text == "nonisolated" }
            let effects = Self.effects(opened.signature.effectSpecifiers, isIsolated: isIsolated)
            answer = "return .opened(\(effects)page.opened())"
        } else {
            answer = "_ = page\n    return .opened()"
        }
        return """
            \(raw: access)static func open(_ request: Waypost::RouteRequest) async throws -> Waypost::RouteAnswer {
                \(raw: made)
                \(raw: answer)
            }
            """
    }

    private static func effects(_ effects: FunctionEffectSpecifiersSyntax?, isIsolated: Bool) -> String {
        (effects?.throwsClause == nil ? "" : "try ")
            + (effects?.asyncSpecifier == nil && !isIsolated ? "" : "await ")
    }
}

extension FunctionDeclSyntax {
    var isStatic: Bool { modifiers.contains { ["static", "class"].contains($0.name.text) } }
}

extension InitializerDeclSyntax {
    /// `init(from request: RouteRequest)`.
    fileprivate var takesRequest: Bool {
        let parameters = signature.parameterClause.parameters
        return parameters.count == 1 && parameters.first?.firstName.text == "from"
            && parameters.first?.type.lastToken(viewMode: .sourceAccurate)?.text == "RouteRequest"
    }
}
#endif
