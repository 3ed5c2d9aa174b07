import Waypost

/// What a list says of a route or a service and is not so any more: all that it says is compared, and nothing that it
/// leaves open.
enum ListComparison {
    /// - Returns: What differs, each as the end of a sentence about the route.
    static func differences(_ wanted: RouteDescription, _ found: RouteDescription) -> [String] {
        var differences: [String] = []
        if wanted.isWhole.value || wanted.kind != .page, wanted.kind != found.kind {
            differences.append(
                "is listed as \(wanted.kind.rawValue), but registered as \(found.kind.rawValue)")
        }
        for (said, now) in zip(wanted.flags, found.flags)
        where said.holds != now.holds && (wanted.isWhole.value || said.holds) {
            differences.append(
                "is \(said.holds ? "" : "not ")listed as \(said.name), but registered so otherwise")
        }
        for (said, now) in zip(wanted.objects, found.objects) {
            for (key, value) in said.values.sorted(by: { $0.key < $1.key }) where now.values[key] != value {
                let text = now.values[key].map { "now has \($0.text.cut(to: 100))" } ?? "no longer has it"
                differences.append(
                    "is listed with \(said.name).\(key) \(value.text.cut(to: 100)), and \(text)")
            }
        }
        return differences + parameters(wanted.parameters, found.parameters)
    }

    private static func parameters(_ wanted: [RouteParameter], _ found: [RouteParameter]) -> [String] {
        guard !wanted.isEmpty else { return [] }
        let now = Dictionary(found.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var differences: [String] = []
        for parameter in wanted {
            guard let other = now[parameter.name] else {
                differences.append("is listed with the parameter \(parameter.name), which it no longer reads")
                continue
            }
            guard parameter.schema != other.schema || parameter.isRequired != other.isRequired else {
                continue
            }
            differences.append("is listed with the parameter \(parameter.text), which is now \(other.text)")
        }
        let known = Set(wanted.map(\.name))
        // Callers that go by the list do not send it.
        for parameter in found where parameter.isRequired && !known.contains(parameter.name) {
            differences.append("needs the parameter \(parameter.text), which is not listed")
        }
        return differences
    }

    static func differences(_ wanted: MethodDescription, _ found: MethodDescription) -> [String] {
        var differences: [String] = []
        if wanted.selector != found.selector {
            differences.append("is listed with the selector \(wanted.selector), and has \(found.selector)")
        }
        if wanted.idempotent != found.idempotent {
            let said = wanted.idempotent ? "" : "not "
            differences.append("is \(said)listed as idempotent, but registered so otherwise")
        }
        for (argument, other) in zip(wanted.arguments, found.arguments)
        where differs(argument.value, other.value) {
            differences.append(
                "is listed with the argument \(argument.label): \(text(argument.value)), which is now "
                    + text(other.value))
        }
        if differs(wanted.result, found.result) {
            differences.append(
                "is listed with the result \(text(wanted.result)), which is now \(text(found.result))")
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
}
