import ArgumentParser
import Waypost

extension CompletionKind {
    /// The patterns of the agent that `--agent` names.
    static let routes = names { contract, _ in contract.routes.map(\.path) }

    /// Its services.
    static let services = names { contract, _ in contract.services.map(\.name) }

    /// Patterns and services.
    static let routesAndServices = names { contract, _ in
        contract.routes.map(\.path) + contract.services.map(\.name)
    }

    /// The methods of the service that stands before it.
    static let methods = names { contract, words in
        contract.services.filter { words.contains($0.name) }.flatMap { $0.methods.map(\.name) }
    }

    /// The arguments of the method that stands before it, by their labels.
    static let arguments = names { contract, words in
        contract.services.filter { words.contains($0.name) }.flatMap(\.methods)
            .filter { words.contains($0.name) }
            .map { method in
                let labels = method.arguments.map { "\"\($0.label)\":" }
                let template = "{\(labels.joined(separator: ","))}"
                guard CompletionShell.requesting == .bash else { return template }
                // bash reads what it is offered as words of a command line, and puts no quotes around it.
                return "'\(template)'".map { "\\\($0)" }.joined()
            }
    }

    /// The parameters of the route whose pattern or URL stands before it: `id=`.
    static let parameters = names { contract, words in
        guard let check = try? ContractCheck(contract) else { return [] }
        return words.lazy.compactMap { check.route(of: $0) }.first?.parameters
            .filter { !$0.isInPath }.map { "\($0.name)=" } ?? []
    }

    private static func names(
        _ list: @escaping @Sendable (RouterContract, [String]) -> [String]
    ) -> CompletionKind {
        .custom { words, _, _ in
            // No completion is worth an error on the line that is being typed.
            guard let agent = value(of: "--agent", in: words),
                let broker = try? BrokerOptions.parse(
                    BrokerOptions.names.flatMap { name in
                        value(of: name, in: words).map { [name, $0] } ?? []
                    }),
                let settings = try? await broker.resolved(),
                let contract = try? await ContractReader(
                    settings: settings, sender: settings.sender ?? SenderOptions.user
                )
                .contract(of: agent, within: .seconds(2))
            else { return [] }
            return list(contract, words)
        }
    }

    private static func value(of option: String, in words: [String]) -> String? {
        words.firstIndex(of: option).flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
    }
}
