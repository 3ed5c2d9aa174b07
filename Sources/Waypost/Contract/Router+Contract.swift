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
        guard let read = try? snapshot.state.read(url) else { return false }
        var steps = RelocationSteps.ofOpen
        return !state.plan.matches(read, &steps).isEmpty
    }

    /// Whether an open fits what the routes say of their parameters; runs nothing.
    package func checkOpen(_ url: String, parameters: [String: JSONValue] = [:]) -> ContractReport {
        let resolution = resolve(url, parameters: parameters)
        if let error = resolution.error { return ContractReport(fault: error) }
        if let method = resolution.method { return checkService(resolution.url, parameters, method) }
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
        switch services.find(service, method) {
        case .failure(let failure):
            ContractReport(fault: failure)
        case .success(let found):
            ContractReport(found.method.description, ArgumentSource(arguments))
        }
    }

    private func checkService(
        _ url: String, _ parameters: [String: JSONValue], _ method: MethodDescription
    ) -> ContractReport {
        do throws(Failure) {
            guard let url = try? RouteURL(url) as RouteURL else { return ContractReport() }
            return ContractReport(method, try ServiceURL(url, caller: parameters).source)
        } catch {
            return ContractReport(fault: error)
        }
    }
}

extension ContractReport {
    /// Whether arguments fit what a method says of them.
    fileprivate init(_ method: MethodDescription, _ source: ArgumentSource) {
        guard let name = MethodName(method.name) else { return }
        do throws(Failure) {
            var reader = try ArgumentReader(method: name, source: source)
            for argument in method.arguments {
                let (name, found) = try reader.next(argument.type, isOptional: argument.value.isOptional)
                guard let found, !(found.isNull && argument.value.isOptional),
                    let problem = argument.value.schema.problem(with: found, readsText: source.readsText)
                else { continue }
                throw .badField("argument \"\(name)\" of \(method.name) \(problem)")
            }
        } catch {
            fault = error
        }
    }
}

extension ExposedService {
    /// A service of which only the description is known: its methods check their arguments and return null.
    package init(standInFor description: ServiceDescription) {
        name = description.name
        providers = { _ in [] }
        methods = description.methods.map(ExposedMethod.init(standInFor:))
    }
}

extension ExposedMethod {
    fileprivate convenience init(standInFor description: MethodDescription) {
        self.init(
            description, names: [description.name, description.selector],
            base: MethodName(description.name)?.base ?? description.name,
            work: .immediate { call in
                if let fault = ContractReport(description, call.source).fault {
                    throw Failure(fault.code, fault.detail)
                }
                return .null
            })
    }
}
