#if Macros
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// The one place that spells a record of the section `waypost_records`; see `LinkedRecord`.
enum RecordSyntax {
    /// A constant whose accessor adds `declarations` to the sink, after running `statements`.
    ///
    /// At file scope it stands in an enumeration: in `main.swift` it would be a variable that is never used.
    static func record(
        name: TokenSyntax, isInType: Bool, statements: [String] = [], declarations: [String]
    ) -> DeclSyntax {
        guard !isInType else { return constant(name, "private", statements, declarations) }
        return """
            private nonisolated enum \(name) {
                \(constant("record", "fileprivate", statements, declarations))
            }
            """
    }

    private static func constant(
        _ name: TokenSyntax, _ access: String, _ statements: [String], _ declarations: [String]
    ) -> DeclSyntax {
        // Every name says its module: the user's may have types of the same names.
        let body =
            statements + [
                "let sink = unsafe Waypost::LinkedRecordSink(pointer)",
                "sink.add(\(declarations.joined(separator: ", ")))",
            ]
        return """
            @section("waypost_records")
            @used
            \(raw: access) nonisolated static let \(name): Waypost::LinkedRecord = (
                0x7761_7970, 1,
                { pointer in
                    \(raw: body.joined(separator: "\n        "))
                },
                0, 0
            )
            """
    }
}

/// The labelled arguments of a macro that go on to an initializer, in the order of its parameters.
struct PassedArguments {
    private let labels: [String]
    private var texts: [String: String] = [:]

    /// Those with these labels, as they were written.
    init(_ arguments: LabeledExprListSyntax?, labels: [String]) {
        self.labels = labels
        for argument in arguments ?? [] {
            guard let label = argument.label?.text, labels.contains(label) else { continue }
            texts[label] = argument.expression.trimmedDescription
        }
    }

    subscript(label: String) -> String? {
        get { texts[label] }
        set { texts[label] = newValue }
    }

    /// `, a: 1, b: 2`, to stand behind other arguments.
    var behind: String {
        labels.compactMap { label in texts[label].map { ", \(label): \($0)" } }.joined()
    }
}
#endif
