import Waypost

/// What a list says of a route or a service and is not so any more: all that it says is compared, and nothing that it
/// leaves open.
enum ListComparison {
    /// What differs, as the end of a sentence about it.
    struct Difference {
        var text: String
        /// Whether who goes by the list no longer gets what it says.
        var breaks: Bool
        /// Whether there is more than the list says, and all of that is so.
        var isMore = false
    }

    static func differences(_ wanted: RouteDescription, _ found: RouteDescription) -> [Difference] {
        var differences: [Difference] = []
        func differ(_ text: String, breaks: Bool) {
            differences.append(Difference(text: text, breaks: breaks))
        }
        if wanted.isWhole.value || wanted.kind != .page, wanted.kind != found.kind {
            differ(
                "is listed as \(wanted.kind.rawValue), but registered as \(found.kind.rawValue)", breaks: true
            )
        }
        for (said, now) in zip(wanted.flags, found.flags)
        where said.holds != now.holds && (wanted.isWhole.value || said.holds) {
            differ(
                "is \(said.holds ? "" : "not ")listed as \(said.name), but registered so otherwise",
                breaks: said.holds)
        }
        for (said, now) in zip(wanted.objects, found.objects) {
            for (key, value) in said.values.sorted(by: { $0.key < $1.key }) where now.values[key] != value {
                let text = now.values[key].map { "now has \($0.text.cut(to: 100))" } ?? "no longer has it"
                // Metadata is for tools; a default stands for what a caller leaves out.
                differ(
                    "is listed with \(said.name).\(key) \(value.text.cut(to: 100)), and \(text)",
                    breaks: said.name == "defaults")
            }
        }
        return differences + answers(wanted, found) + parameters(wanted, found)
    }

    private static func answers(_ wanted: RouteDescription, _ found: RouteDescription) -> [Difference] {
        switch (wanted.answer, found.answer) {
        case (let said?, let now?) where differs(said, now):
            [
                Difference(
                    text: "is listed with the answer \(text(said)), which is now \(text(now))",
                    breaks: !takes(said, all: now))
            ]
        case (let said?, nil):
            [
                Difference(
                    text: "is listed with the answer \(text(said)), which it no longer has", breaks: true)
            ]
        case (nil, let now?) where wanted.isWhole.value:
            [
                Difference(
                    text: "has the answer \(text(now)), which is not listed", breaks: false, isMore: true)
            ]
        default: []
        }
    }

    private static func parameters(_ wanted: RouteDescription, _ found: RouteDescription) -> [Difference] {
        guard !wanted.parameters.isEmpty || wanted.isWhole.value else { return [] }
        let now = Dictionary(
            found.parameters.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var differences: [Difference] = []
        for parameter in wanted.parameters {
            guard let other = now[parameter.name] else {
                differences.append(
                    Difference(
                        text: "is listed with the parameter \(parameter.name), which it no longer reads",
                        breaks: true))
                continue
            }
            guard parameter.schema != other.schema || parameter.isRequired != other.isRequired else {
                continue
            }
            differences.append(
                Difference(
                    text: "is listed with the parameter \(parameter.text), which is now \(other.text)",
                    breaks: !other.schema.takesAll(of: parameter.schema)
                        || other.isRequired && !parameter.isRequired))
        }
        let known = Set(wanted.parameters.map(\.name))
        // Callers that go by the list do not send it.
        for parameter in found.parameters where !known.contains(parameter.name) {
            if parameter.isRequired {
                differences.append(
                    Difference(
                        text: "needs the parameter \(parameter.text), which is not listed", breaks: true))
            } else if wanted.isWhole.value {
                differences.append(
                    Difference(
                        text: "reads the parameter \(parameter.text), which is not listed", breaks: false,
                        isMore: true))
            }
        }
        return differences
    }

    static func differences(_ wanted: MethodDescription, _ found: MethodDescription) -> [Difference] {
        var differences: [Difference] = []
        func differ(_ text: String, breaks: Bool) {
            differences.append(Difference(text: text, breaks: breaks))
        }
        if wanted.selector != found.selector {
            differ("is listed with the selector \(wanted.selector), and has \(found.selector)", breaks: true)
        }
        if wanted.idempotent != found.idempotent {
            let said = wanted.idempotent ? "" : "not "
            differ(
                "is \(said)listed as idempotent, but registered so otherwise", breaks: wanted.idempotent)
        }
        for (argument, other) in zip(wanted.arguments, found.arguments)
        where differs(argument.value, other.value) {
            differ(
                "is listed with the argument \(argument.label): \(text(argument.value)), which is now "
                    + text(other.value),
                breaks: !takes(other.value, all: argument.value))
        }
        if differs(wanted.result, found.result) {
            differ(
                "is listed with the result \(text(wanted.result)), which is now \(text(found.result))",
                breaks: !takes(wanted.result, all: found.result))
        }
        return differences
    }

    private static func text(_ value: MethodDescription.Value) -> String {
        value.type.isEmpty ? value.schema.text : value.type
    }

    /// A type that has another name and looks the same in JSON is the same for a caller.
    private static func differs(_ one: MethodDescription.Value, _ other: MethodDescription.Value) -> Bool {
        one.schema != other.schema || one.isOptional != other.isOptional
            || one.schema.kind == nil && one.type != other.type
    }

    /// Whether who reads one value can read all that the other may be.
    private static func takes(_ one: MethodDescription.Value, all other: MethodDescription.Value) -> Bool {
        one.schema.takesAll(of: other.schema) && (one.isOptional || !other.isOptional)
            && (one.schema.kind != nil || one.type == other.type)
    }
}
