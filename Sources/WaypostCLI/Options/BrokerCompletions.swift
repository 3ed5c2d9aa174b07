import ArgumentParser
import Threading
import Waypost
import WaypostBackend
import WaypostMessages
import WaypostTools

/// Completions that ask the broker.
extension CompletionKind {
    /// The agents that the broker knows.
    static let agents = known { $0.map(\.name) }

    /// The groups that they are in.
    static let groups = known { ["all"] + $0.flatMap(\.groups) }

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
        guard let check = try? AgentContract(contract) else { return [] }
        return words.lazy.compactMap { check.route(of: $0) }.first?.parameters
            .filter { !$0.isInPath }.map { "\($0.name)=" } ?? []
    }

    private static func names(
        _ list: @escaping @Sendable (RouterContract, [String]) -> [String]
    ) -> CompletionKind {
        offer { words, settings in
            guard let agent = value(of: "--agent", in: words) else { return [] }
            return list(try await settings.contract(of: agent, within: patience), words)
        }
    }

    private static func known(_ list: @escaping @Sendable ([AgentStatus]) -> [String]) -> CompletionKind {
        offer { _, settings in
            // As many as are known in that time: a list that lacks some is better here than none.
            Set(list(try await settings.roster(within: patience).summaries(now: WallClock.now()))).sorted()
        }
    }

    /// How long the line that is being typed may wait.
    private static var patience: Duration { .seconds(2) }

    /// What the broker knows that the line names, or the environment, or the profile in use.
    private static func offer(
        _ list: @escaping @Sendable ([String], BackendConfiguration) async throws -> [String]
    ) -> CompletionKind {
        .custom { words, _, _ in
            let options = BrokerOptions.names.flatMap { name in
                value(of: name, in: words).map { [name, $0] } ?? []
            }
            // No completion is worth an error on the line that is being typed.
            guard let settings = try? await BrokerOptions.parse(options).resolved() else { return [] }
            return (try? await list(words, settings)) ?? []
        }
    }

    private static func value(of option: String, in words: [String]) -> String? {
        for (index, word) in words.enumerated() {
            if word == option { return words.indices.contains(index + 1) ? words[index + 1] : nil }
            if word.hasPrefix(option + "=") { return String(word.dropFirst(option.count + 1)) }
        }
        return nil
    }
}
