#if Macros
import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacros

/// The patterns that a macro was given: its arguments without a label, or the one with the label `key`.
struct PatternArguments {
    let expressions: [ExprSyntax]
    /// Those that stand there as literals.
    let known: [RoutePattern]
    /// The names that `converters:` declares, of which one may be that of a built-in converter.
    let customConverters: Set<String>

    /// Nil, with diagnostics, when one is no pattern; see `RoutePattern`, whose reader this is.
    ///
    /// What is no literal, for instance a constant, is read when it is registered.
    init?(
        _ arguments: LabeledExprListSyntax?, of node: some SyntaxProtocol,
        in context: some MacroExpansionContext
    ) {
        let arguments = arguments ?? []
        let unlabelled = arguments.prefix { $0.label == nil || $0.label?.text == "key" }
        expressions = unlabelled.map(\.expression.trimmed)
        guard !unlabelled.isEmpty else {
            context.report("a route needs a pattern, for instance \"myapp://orders/:id\"", at: node)
            return nil
        }
        let converters = Converters(arguments)
        var known: [RoutePattern] = []
        var isGood = true
        for argument in unlabelled {
            guard let literal = PatternLiteral(argument.expression) else { continue }
            guard let pattern = literal.read(converters, context) else {
                isGood = false
                continue
            }
            if known.contains(pattern) {
                context.report("the pattern \(pattern) is given twice", at: argument.expression)
                isGood = false
            }
            known.append(pattern)
        }
        guard isGood else { return nil }
        self.known = known
        customConverters = converters.names
    }
}

/// The names that `converters:` declares beside the built-in ones.
private struct Converters {
    var names: Set<String> = []
    /// Whether the names are only known at run time.
    var isOpen = false

    init(_ arguments: LabeledExprListSyntax?) {
        guard let argument = arguments?.first(where: { $0.label?.text == "converters" }) else { return }
        guard let array = argument.expression.as(ArrayExprSyntax.self) else {
            isOpen = true
            return
        }
        for element in array.elements {
            if let name = element.expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue {
                names.insert(name)
            } else {
                isOpen = true
            }
        }
    }
}

/// A pattern that stands in the source as a plain string literal.
private struct PatternLiteral {
    let text: String
    let segment: StringSegmentSyntax
    /// Whether every byte of the text is one of the source.
    let isVerbatim: Bool

    init?(_ expression: ExprSyntax) {
        guard let literal = expression.as(StringLiteralExprSyntax.self),
            let text = literal.representedLiteralValue, literal.segments.count == 1,
            let segment = literal.segments.first?.as(StringSegmentSyntax.self)
        else { return nil }
        self.text = text
        self.segment = segment
        isVerbatim = segment.content.text == text
    }

    func read(_ converters: Converters, _ context: some MacroExpansionContext) -> RoutePattern? {
        var syntax = PatternSyntax()
        syntax.converterNames.formUnion(converters.names)
        while true {
            do throws(RoutePatternError) {
                return try RoutePattern(text, syntax: syntax)
            } catch {
                if case .unknownConverter(let name) = error.reason, converters.isOpen {
                    syntax.converterNames.insert(name)
                    continue
                }
                report(error, context)
                return nil
            }
        }
    }

    private func report(_ error: RoutePatternError, _ context: some MacroExpansionContext) {
        var message = "\"\(text)\" is not a pattern: \(error.reason) at byte \(error.offset)"
        var fixIts: [FixIt] = []
        let start = segment.content.positionAfterSkippingLeadingTrivia
        let position = isVerbatim ? start.advanced(by: error.offset) : start
        if case .unknownConverter(let name) = error.reason {
            let known = PatternSyntax.builtInConverterNames.union(["path"])
            message +=
                "; there are \(known.sorted().joined(separator: ", ")), and those of the router's configuration "
                + "that converters: names"
            if isVerbatim, let near = NearestNames.find(name, among: known, limit: 1).first {
                let range = position..<position.advanced(by: name.utf8.count)
                fixIts.append(
                    FixIt(
                        message: MacroFault("use '\(near)'"),
                        changes: [.replaceText(range: range, with: near, in: Syntax(segment))]))
            }
        }
        context.report(message, at: segment, position: position, fixIts: fixIts)
    }
}
#endif
