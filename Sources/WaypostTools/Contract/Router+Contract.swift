package import Waypost

/// What does not fit a contract in an open or a call, found without sending it.
package struct ContractReport: Sendable, Hashable {
    /// What would be refused; nil when nothing is known to be wrong.
    package var fault: Failure?
    /// Probable mistakes in what is allowed.
    package var warnings: [String] = []

    /// Nothing is known to be wrong unless it is said.
    package init(fault: Failure? = nil) { self.fault = fault }
}

extension Router {
    /// Whether a redirect takes the URL, or may do so.
    package func isRedirected(_ url: String) -> Bool {
        let state = state
        guard let read = try? state.read(url) else { return false }
        return state.plan.takes(read)
    }

    /// Whether an open fits what the routes say of their parameters; runs nothing.
    package func checkOpen(_ url: String, parameters: [String: JSONValue] = [:]) -> ContractReport {
        let resolution = resolve(url, parameters: parameters)
        if let error = resolution.error { return ContractReport(fault: error) }
        if let method = resolution.method {
            let url = try? RouteURL(resolution.url) as RouteURL
            return ContractReport(fault: url.flatMap { method.fault(in: $0, caller: parameters) })
        }
        guard let route = resolution.route else { return ContractReport() }
        var report = ContractReport()
        let known = resolution.declared
        let given = resolution.parameters.merged
        let unknown = given.keys.filter { name in !known.contains { $0.name == name } }.sorted()
        for parameter in known {
            guard let value = given[parameter.name], !value.isNull else {
                guard !parameter.isInPath else { continue }
                // Others may read what no route declares, so that only a slip of the fingers is worth a word.
                let slip = unknown.first { name in
                    name.utf8.count > 2
                        && !NearestNames.find(name, among: [parameter.name], limit: 1, slips: 2).isEmpty
                }
                let question = slip.map { "; did you mean it by \($0)?" } ?? ""
                if parameter.isRequired {
                    report.fault =
                        report.fault
                        ?? .badField(
                            "\(route): \(parameter.name) is missing (\(parameter.schema.text))\(question)")
                } else if let slip {
                    report.warnings.append("\(route) does not read \(slip); did you mean \(parameter.name)?")
                }
                continue
            }
            if let problem = parameter.schema.problem(with: value, readsText: true) {
                report.fault = report.fault ?? .badField("\(route): \(parameter.name) \(problem)")
            }
        }
        return report
    }

    /// Whether a call fits what the method says of its arguments; runs nothing.
    package func checkCall(
        _ service: String, _ method: String, arguments: ServiceArguments
    ) -> ContractReport {
        switch services.description(of: method, in: service) {
        case .failure(let failure): ContractReport(fault: failure)
        case .success(let found): ContractReport(fault: found.fault(in: arguments))
        }
    }
}
