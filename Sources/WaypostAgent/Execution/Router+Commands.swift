package import Waypost
package import WaypostMessages

extension Router {
    /// Runs an open, a call or a move; any other command does nothing here.
    package func run(_ operation: Command.Operation, _ context: OpenContext) async -> CommandResult {
        switch operation {
        case .open(let url, let parameters):
            return CommandResult(await open(url, parameters: parameters, context: context))
        case .call(let service, let method, let arguments):
            return await CommandResult(origin: .service) { () throws(Failure) in
                try await services.call(
                    service, method, arguments: ServiceArguments(arguments), context: context)
            }
        case .navigate(let move):
            return await CommandResult(origin: .router) { () throws(Failure) in
                let moved = try await navigate(move, context: context)
                return ["moved": .bool(moved), "navigation": navigator?.navigation?.json ?? .null]
            }
        case .cancel, .failures, .inspect, .log, .maps, .replay, .resolve, .ping: return .ok()
        }
    }

    /// The answer to a `resolve`, with as many URLs as fit into so many bytes, and at least one; nil when it must not go
    /// on.
    ///
    /// - Parameter layers: The maps in force; nil while another one is put in force.
    package func answer(
        _ request: ResolveRequest, for sender: String, bytes: Int, under layers: () -> [AppliedMap.Layer]?,
        while goesOn: () -> Bool = { true }
    ) -> JSONValue? {
        let before = layers()
        let inForce = before.map { JSONValue.array($0.map(\.json)) }
        var resolved: [JSONValue] = []
        var size = inForce?.serialized().count ?? 0
        let count = request.urls.count + request.calls.count
        for number in 0..<count {
            guard goesOn() else { return nil }
            let answer = self.answer(number, of: request, for: sender).json
            size += answer.serialized().count + 1
            guard resolved.isEmpty || size <= bytes else { break }
            resolved.append(answer)
        }
        let isAll = resolved.count == count
        var answer: [String: JSONValue] = [
            "resolved": .array(resolved), "next": isAll ? .null : .int(Int64(resolved.count)),
        ]
        // When another map came meanwhile, it is not known which of the two answered.
        if let inForce, layers() == before { answer["inForce"] = inForce }
        return .object(answer)
    }

    /// The answer about one URL, or about a call behind them.
    private func answer(_ number: Int, of request: ResolveRequest, for sender: String) -> ResolvedURL {
        guard number < request.urls.count else {
            let call = request.calls[number - request.urls.count]
            let arguments = ServiceArguments.labeled(request.parameters)
            return ResolvedURL(call.text, resolveCall(call.service, call.name, arguments: arguments))
        }
        let url = request.urls[number]
        return ResolvedURL(
            url, resolve(url, parameters: request.parameters, caller: request.caller ?? sender))
    }
}

extension ServiceArguments {
    init(_ arguments: Command.Arguments) {
        switch arguments {
        case .positional(let values): self = .positional(values)
        case .labeled(let members): self = .labeled(members)
        }
    }
}
