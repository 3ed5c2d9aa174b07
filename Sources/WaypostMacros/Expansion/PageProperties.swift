#if Macros
import SwiftSyntax
import SwiftSyntaxMacros

/// The properties of a page that is read from the parameters, to be held against its patterns.
struct PageProperties {
    private let properties: [(name: String, type: TypeSyntax)]

    /// Nil for a type that is read in another way, or of which the source does not show how.
    init?(_ declaration: some DeclGroupSyntax) {
        let inherited = (declaration.inheritanceClause?.inheritedTypes ?? [])
            .flatMap { $0.type.as(CompositionTypeSyntax.self)?.elements.map(\.type) ?? [$0.type] }
            .compactMap { $0.lastToken(viewMode: .sourceAccurate)?.text }
        guard inherited.contains(where: { $0 == "Decodable" || $0 == "Codable" }) else { return nil }
        let members = declaration.memberBlock.members.map(\.decl)
        // What is no page is not made from the parameters.
        let opensItself = members.contains { member in
            let function = member.as(FunctionDeclSyntax.self)
            return function?.name.text == "open" && function?.isStatic == true
        }
        guard !opensItself || inherited.contains("RoutablePage") else { return nil }
        // An initializer from a request or a decoder reads what it likes, and keys may have other names.
        let readsItself = members.contains { member in
            let first = member.as(InitializerDeclSyntax.self)?.signature.parameterClause.parameters.first
            let keys = member.asProtocol((any NamedDeclSyntax).self)?.name.text
            return first?.firstName.text == "from" || keys == "CodingKeys"
        }
        guard !readsItself else { return nil }
        properties = members.compactMap { $0.as(VariableDeclSyntax.self) }.flatMap(Self.properties)
    }

    /// What is stored and decoded, where its type is written.
    private static func properties(of variable: VariableDeclSyntax) -> [(name: String, type: TypeSyntax)] {
        // A wrapper reads what it likes.
        guard variable.attributes.isEmpty,
            !variable.modifiers.contains(where: { ["static", "class", "lazy"].contains($0.name.text) })
        else { return [] }
        let isConstant = variable.bindingSpecifier.text == "let"
        // In `let a, b: Int` the type stands behind the last.
        var type: TypeSyntax?
        var found: [(name: String, type: TypeSyntax)] = []
        for binding in variable.bindings.reversed() {
            type = binding.typeAnnotation?.type ?? (binding.initializer == nil ? type : nil)
            guard let type, let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text,
                !(isConstant && binding.initializer != nil), isStored(binding)
            else { continue }
            found.append((name.filter { $0 != "`" }, type))
        }
        return found
    }

    private static func isStored(_ binding: PatternBindingSyntax) -> Bool {
        switch binding.accessorBlock?.accessors {
        case nil: true
        case .getter: false
        case .accessors(let list):
            list.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
        }
    }

    /// Whether each property may be read from its placeholder; an error at each that can not.
    func fit(_ patterns: PatternArguments, in context: some MacroExpansionContext) -> Bool {
        var isGood = true
        for pattern in patterns.known {
            let given = pattern.segments.flatMap {
                SpelledValue.given(by: $0, custom: patterns.customConverters)
            }
            for (name, value) in given {
                guard let value, let property = properties.first(where: { $0.name == name }),
                    let wanted = SpelledValue(property.type), !value.mayGive(wanted)
                else { continue }
                let type = property.type.trimmedDescription
                let isCollection = wanted == .list || wanted == .object
                context.report(
                    "\(name) is \(type), but its placeholder in \"\(pattern)\" gives \(value.text): "
                        + (isCollection
                            ? "a part of a path is no collection; rename the property to read it from the query"
                            : "make it \(value.types), or change the placeholder"),
                    at: property.type)
                isGood = false
            }
        }
        return isGood
    }
}
#endif
