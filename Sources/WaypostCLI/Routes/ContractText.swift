import Waypost
import WaypostTools

/// Routes and services for people.
struct ContractText {
    let style: Style

    /// One line for each route and each method.
    func lines(_ contract: RouterContract) -> [TerminalText] {
        var lines: [TerminalText] = contract.routes.map { route in
            let parameters = route.parameters.map(\.text).joined(separator: ", ")
            let shown: TerminalText = parameters.isEmpty ? "" : "  \(style.dim("(\(parameters))"))"
            return "\(route.path)\(shown)"
        }
        for service in contract.services {
            lines += service.methods.map { "\(service.name).\(signature($0))" }
        }
        return lines + contract.gates.map { "gate \($0)" }
    }

    func lines(_ route: RouteDescription) -> [TerminalText] {
        var rows: [TextTable.Entry] = []
        func add(_ name: String, _ text: String) { rows.append(TextTable.Entry(name: name, text: text)) }
        if !route.className.isEmpty { add("class", route.className) }
        add("kind", route.kind.rawValue)
        if route.priority != 0 { add("priority", "\(route.priority)") }
        if route.idempotent { add("idempotent", "it runs again when a crash interrupted it") }
        if route.takesDeeper { add("deeper", "also matches deeper URLs that no other route matches") }
        if route.redirects { add("redirects", "may redirect by itself") }
        for (name, value) in route.metadata.sorted(by: { $0.key < $1.key }) { add(name, value.text) }
        let lines: [TerminalText] = ["\(style.bold("\(route.path)"))"] + TextTable.lines(rows)
        guard !route.parameters.isEmpty else { return lines }
        let parameters = route.parameters.map { parameter in
            let notes = [
                parameter.isInPath ? "in the path" : nil, parameter.isRequired ? "required" : nil,
                route.defaults[parameter.name].map { "\($0.text) unless given" }, parameter.summary,
            ].compactMap(\.self)
            let more = notes.isEmpty ? "" : "; " + notes.joined(separator: "; ")
            return TextTable.Entry(name: parameter.name, text: "\(parameter.schema.text)\(more)")
        }
        return lines + ["parameters"] + TextTable.lines(parameters)
    }

    func lines(_ service: ServiceDescription) -> [TerminalText] {
        ["\(style.bold("\(service.name)"))"]
            + service.methods.flatMap { method -> [TerminalText] in
                ["  \(signature(method))"]
                    + TextTable.lines([TextTable.Entry(name: "selector", text: method.selector)], indent: 4)
            }
    }

    /// `add(a: Int, b: Int) -> Int, idempotent`.
    private func signature(_ method: MethodDescription) -> TerminalText {
        let base = method.name.prefix { $0 != "(" }
        let arguments = method.arguments.map { "\($0.label): \($0.type)" }.joined(separator: ", ")
        let result = method.result.type == "()" ? "" : " -> \(method.result.type)"
        return "\(String(base))(\(arguments))\(result)\(method.idempotent ? ", idempotent" : "")"
    }
}
