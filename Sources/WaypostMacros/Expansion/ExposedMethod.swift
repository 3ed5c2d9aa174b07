#if Macros
import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacros

/// A method as it can be called from outside.
struct ExposedMethod {
    struct Parameter {
        /// The argument's label; `_` for none.
        let label: String
        /// A name that cannot be another's.
        let name: String
        let type: String
        /// Its default value, and the function that gives it.
        let standard: (expression: ExprSyntax, function: TokenSyntax)?

        /// As what it is decoded.
        var decoded: String { standard == nil ? type : "Waypost::OmittableArgument<\(type)>" }

        /// What the method gets.
        func value(in type: String) -> String {
            guard let standard else { return name }
            return "await \(name).value { await \(type).\(standard.function)() }"
        }
    }

    let baseName: String
    /// The arguments: the parameters that a caller gives.
    let parameters: [Parameter]
    /// What a call of the method hands over, in order: an argument, or nil for its context.
    private let call: [(label: String, argument: Parameter?)]
    /// Whether it asks for its context.
    let takesContext: Bool
    /// The actor that it belongs to, where that is not the type's: `@MainActor ` or `nonisolated `.
    private let isolation: String
    let result: String
    /// The arguments `selector:` and `idempotent:`.
    let settings: String

    /// Nil, with diagnostics, when it cannot be called from outside.
    init?(
        _ declaration: some DeclSyntaxProtocol, attribute: AttributeSyntax,
        in context: some MacroExpansionContext
    ) {
        guard let function = declaration.as(FunctionDeclSyntax.self) else {
            context.report("@Exposed belongs on a method; wrap this in one", at: attribute)
            return nil
        }
        var isGood = Self.checkModifiers(of: function, in: context)
        var parameters: [Parameter] = []
        var call: [(label: String, argument: Parameter?)] = []
        var takesContext = false
        for (place, parameter) in function.signature.parameterClause.parameters.enumerated() {
            if parameter.ellipsis != nil {
                context.report("an exposed method cannot be variadic; take an array", at: parameter)
                isGood = false
            }
            guard let type = ExposedType(parameter.type, of: "argument", in: context) else {
                isGood = false
                continue
            }
            let label = parameter.firstName.text
            guard !type.isContext else {
                takesContext = true
                call.append((label, nil))
                continue
            }
            let argument = Parameter(
                label: label, name: "argument\(place)", type: type.text,
                standard: parameter.defaultValue.map {
                    ($0.value.trimmed, context.makeUniqueName("standard"))
                })
            call.append((label, argument))
            parameters.append(argument)
        }
        self.call = call
        self.takesContext = takesContext
        isolation = Self.isolation(of: function)
        baseName = function.name.text
        self.parameters = parameters
        guard let result = Self.result(of: function, in: context) else { return nil }
        self.result = result
        let arguments = attribute.arguments?.as(LabeledExprListSyntax.self)
        settings = PassedArguments(arguments, labels: ["selector", "idempotent"]).behind
        guard isGood, Self.checkSelector(arguments, against: parameters.count, in: context) else {
            return nil
        }
    }

    private static func result(
        of function: FunctionDeclSyntax, in context: some MacroExpansionContext
    ) -> String? {
        guard let clause = function.signature.returnClause else { return "Void" }
        return ExposedType(clause.type, of: "result", in: context)?.text
    }

    /// `add(a:b:)`.
    var fullName: String {
        let labels = parameters.map { "\($0.label.filter { $0 != "`" }):" }.joined()
        return "\(baseName.filter { $0 != "`" })(\(labels))"
    }

    /// The arguments of a call of the method, `argument0, for: context`.
    func call(in type: String) -> String {
        call.map { label, argument in
            let value = argument?.value(in: type) ?? "context"
            return label == "_" ? value : "\(label): \(value)"
        }.joined(separator: ", ")
    }

    /// Functions of the type that give the default values: there their names mean what they mean at the method.
    ///
    /// They are asynchronous, so that who calls them needs not know to which actor they belong.
    var standards: [String] {
        parameters.compactMap { parameter in
            parameter.standard.map { expression, function in
                """
                \(isolation)private static func \(function)() async -> \(parameter.type) {
                    \(expression)
                }
                """
            }
        }
    }

    // The labels are the method's own, so that two methods of one base name have two of these.
    private var factory: String { "__exposed_\(baseName.filter { $0 != "`" })" }

    var factoryDeclaration: String {
        let labels = parameters.map { "\($0.label) \($0.name): Void" }
        return "\(factory)(\(labels.joined(separator: ", ")))"
    }

    var factoryCall: String {
        let labels = parameters.map { $0.label == "_" ? "()" : "\($0.label): ()" }
        return "\(factory)(\(labels.joined(separator: ", ")))"
    }

    private static func isolation(of function: FunctionDeclSyntax) -> String {
        let actors = function.attributes.compactMap { $0.as(AttributeSyntax.self)?.trimmedDescription }
            .filter { $0.hasSuffix("Actor") }
        let isFree = function.modifiers.contains { $0.name.text == "nonisolated" }
        return (actors + (isFree ? ["nonisolated"] : [])).map { "\($0) " }.joined()
    }

    // MARK: Checks

    private static func checkModifiers(
        of function: FunctionDeclSyntax, in context: some MacroExpansionContext
    ) -> Bool {
        var isGood = true
        for modifier in function.modifiers {
            switch modifier.name.text {
            case "static", "class":
                context.report(
                    "an exposed method is called on an instance of the service and cannot be "
                        + modifier.name.text, at: modifier, fixIts: [removal(of: modifier)])
                isGood = false
            case "private", "fileprivate":
                context.report(
                    "an exposed method is open to callers from outside and cannot be \(modifier.name.text)",
                    at: modifier, fixIts: [removal(of: modifier)])
                isGood = false
            case "mutating":
                context.report(
                    "an exposed method cannot be mutating: calls share one service; make it a class or an actor",
                    at: modifier)
                isGood = false
            default: break
            }
        }
        if let generic = function.genericParameterClause {
            context.report(
                "an exposed method cannot be generic: its arguments are decoded and need concrete types",
                at: generic)
            isGood = false
        }
        return isGood
    }

    private static func removal(of modifier: DeclModifierSyntax) -> FixIt {
        FixIt(
            message: MacroFault("remove '\(modifier.name.text)'"),
            changes: [
                .replaceText(
                    range: modifier.positionAfterSkippingLeadingTrivia..<modifier.endPosition, with: "",
                    in: Syntax(modifier))
            ])
    }

    private static func checkSelector(
        _ arguments: LabeledExprListSyntax?, against count: Int, in context: some MacroExpansionContext
    ) -> Bool {
        guard let argument = arguments?.first(where: { $0.label?.text == "selector" }),
            let selector = argument.expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue
        else { return true }
        let colons = selector.count { $0 == ":" }
        guard colons != count else { return true }
        context.report(
            "the selector \"\(selector)\" has \(colons) colons, the method \(count) arguments",
            at: argument.expression)
        return false
    }
}

/// A type that a value from outside can be decoded as, as far as its spelling shows; the compiler checks the rest.
struct ExposedType {
    let text: String

    /// Whether it is what a method asks for to learn who calls it, and no argument.
    var isContext: Bool { ["OpenContext", "Waypost.OpenContext", "Waypost::OpenContext"].contains(text) }

    init?(_ type: TypeSyntax, of role: String, in context: some MacroExpansionContext) {
        func refuse(_ reason: String) {
            context.report("the \(role) of an exposed method cannot be \(reason)", at: type)
        }
        var bare = type.trimmed
        if let attributed = bare.as(AttributedTypeSyntax.self) {
            let specifiers = attributed.specifiers.map(\.trimmedDescription)
            if specifiers.contains("inout") {
                refuse("inout: only the result is returned")
                return nil
            }
            if specifiers.contains(where: { $0.hasPrefix("isolated") }) {
                refuse("an isolation: callers from outside have no actor")
                return nil
            }
            bare = attributed.baseType.trimmed
        }
        if let tuple = bare.as(TupleTypeSyntax.self), tuple.elements.count == 1,
            let only = tuple.elements.first, only.firstName == nil
        {
            bare = only.type.trimmed
        }
        if bare.is(FunctionTypeSyntax.self) {
            refuse("a closure: it cannot be sent")
            return nil
        }
        if bare.is(TupleTypeSyntax.self), bare.as(TupleTypeSyntax.self)?.elements.isEmpty == false {
            refuse("a tuple, which cannot be written as JSON; make it a Codable structure")
            return nil
        }
        if let opaque = bare.as(SomeOrAnyTypeSyntax.self) {
            refuse("'\(opaque.trimmedDescription)': an argument needs a concrete Codable type")
            return nil
        }
        if let optional = bare.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
            text = "\(optional.wrappedType.trimmedDescription)?"
        } else {
            text = bare.trimmedDescription
        }
    }
}
#endif
