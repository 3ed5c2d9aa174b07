extension MethodDescription {
    /// Why arguments do not fit what the method says of them; nil when they do.
    package func fault(in arguments: ServiceArguments) -> Failure? { fault(in: ArgumentSource(arguments)) }

    func fault(in source: ArgumentSource) -> Failure? {
        guard let method = MethodName(name) else { return nil }
        do throws(Failure) {
            var reader = try ArgumentReader(method: method, source: source)
            for argument in arguments {
                let (name, found) = try reader.next(argument.type, isOptional: argument.value.isOptional)
                guard let found, !(found.isNull && argument.value.isOptional),
                    let problem = argument.value.schema.problem(with: found, readsText: source.readsText)
                else { continue }
                throw .badField("argument \"\(name)\" of \(self.name) \(problem)")
            }
            return nil
        } catch {
            return error
        }
    }
}

extension ServiceRegistry {
    /// The method that a call would run.
    package func description(of method: String, in service: String) -> Result<MethodDescription, Failure> {
        find(service, method).map(\.method.description)
    }
}

extension ExposedService {
    /// A service of which only the description is known: its methods check their arguments and return null.
    package init(standInFor description: ServiceDescription) {
        name = description.name
        actor = nil
        providers = { _ in [] }
        methods = description.methods.map { method in
            ExposedMethod(
                method, names: [method.name, method.selector],
                base: MethodName(method.name)?.base ?? method.name,
                work: .immediate { call in
                    if let fault = method.fault(in: call.source) { throw fault }
                    return .null
                },
                service: nil)
        }
    }
}
