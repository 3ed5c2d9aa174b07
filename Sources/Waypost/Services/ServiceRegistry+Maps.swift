import Synchronization
import Threading

/// What the maps of one router do to calls, and for whom.
struct CallMaps: Sendable {
    let rules: CallRules
    let context: RelocationContext
}

/// What a call runs, after maps.
struct CallTarget: Sendable {
    /// The service, as it is named.
    var service: String
    var found: ServiceRegistry.Found
    /// What the call returns in place of what the method would; nil when that runs.
    var answer: JSONValue?

    var name: String { "\(service).\(found.method.description.name)" }
}

extension ServiceRegistry.State {
    var isGuarded: Bool { !hooks.isEmpty || !maps.isEmpty }
}

extension ServiceRegistry {
    /// The most methods that one call goes through, each in place of the one before.
    private static let maximumReplacements = 8

    /// What became of a call under maps.
    enum MappedCall: Sendable {
        case goesOn(CallTarget)
        case ended(Failure)
        /// A method that takes the place of another may be one of a module that is not set up yet.
        case waits(RelocationEntry.Method)
    }

    /// Has calls follow the maps of a router; nil for none.
    func follow(_ maps: CallMaps?, of router: ObjectIdentifier) {
        state.withLock { state in
            state.maps[router] = maps
            isGuarded.store(state.isGuarded, ordering: .releasing)
            mapChanges.add(1, ordering: .releasing)
        }
    }

    /// What maps make of a call: the one place that decides it, for calls and for those who ask where one would lead.
    ///
    /// - Parameters:
    ///   - mayWait: Whether it is said when a module must be set up first.
    ///   - decisions: Gets what was decided; nil when no one reads it.
    func follow(
        _ first: CallTarget, _ source: ArgumentSource, mayWait: Bool, _ decisions: inout [RelocationDecision]?
    ) -> MappedCall {
        let maps = state.withLock { Array($0.maps.values) }
        var (target, path) = (first, [first.name])
        while let rule = rule(in: maps, for: target, source, &decisions) {
            if let fault = fault(of: rule, at: target.found.method) {
                // What does not fit this build is not there: the call goes on as before.
                decisions?.append(rule.place.decision(false, fault))
                guard mayWait, case .replace(let other) = rule.effect,
                    wait(for: find(other.service, other.name)) != nil
                else { break }
                return .waits(other)
            }
            switch rule.effect {
            case .none: return .goesOn(target)
            case .off(let failure): return .ended(failure)
            case .answer(let value):
                target.answer = value
                return .goesOn(target)
            case .replace(let other):
                guard case .success(let found) = find(other.service, other.name) else {
                    return .goesOn(target)
                }
                target = CallTarget(service: other.service, found: found)
                path.append(target.name)
                guard path.count <= Self.maximumReplacements, !path.dropLast().contains(target.name) else {
                    return .ended(.cycle("methods replace each other: \(path.joined(separator: " → "))"))
                }
            }
        }
        return .goesOn(target)
    }

    private func rule(
        in maps: [CallMaps], for target: CallTarget, _ source: ArgumentSource,
        _ decisions: inout [RelocationDecision]?
    ) -> CallRule? {
        for map in maps {
            let method = target.found.method
            let rule = map.rules.rule(
                of: target.service, isNamed: method.isNamed,
                {
                    let labels = method.description.arguments.map(\.label)
                    return RelocationRequester(map.context, caller: source.arguments.labeled(labels))
                }, &decisions)
            if let rule { return rule }
        }
        return nil
    }

    /// Why a rule does nothing to a method of this build; nil when it does.
    private func fault(of rule: CallRule, at method: ExposedMethod) -> String? {
        switch rule.effect {
        case .off, .none: return nil
        case .answer(let value):
            let result = method.description.result
            if result.isVoid {
                return value.isNull ? nil : "\(rule.subject.text) has no result; value must be null"
            }
            if value.isNull {
                return result.isOptional ? nil : "the value is null, and \(result.type) is not optional"
            }
            return result.schema.problem(with: value, readsText: false).map {
                "the value is no \(result.type): it \($0)"
            }
        case .replace(let other):
            switch find(other.service, other.name) {
            case .failure(let failure): return failure.detail
            case .success(let found):
                let (one, two) = (method.description, found.method.description)
                guard one.arguments == two.arguments, one.result == two.result else {
                    return "\(other.text) has another shape: \(two.shape), and not \(one.shape)"
                }
                return nil
            }
        }
    }

    /// Why a rule does nothing in this build; nil when it does.
    func fault(of rule: CallRule) -> String? {
        switch rule.subject {
        case .pages: return nil
        case .service(let name):
            let names = state.withLock { Array($0.exposed.keys) }
            guard !names.contains(name) else { return nil }
            return Self.sentence(.noService(name, nearest: NearestNames.find(name, among: names)))
        case .method(let method):
            switch find(method.service, method.name) {
            case .failure(let failure): return Self.sentence(failure)
            case .success(let found): return fault(of: rule, at: found.method)
            }
        }
    }

    private static func sentence(_ failure: Failure) -> String {
        failure.nearest.isEmpty
            ? failure.detail : "\(failure.detail); similar are \(failure.nearest.joined(separator: ", "))"
    }
}

extension ExposedMethod {
    /// Whether callers may mean it by that name.
    fileprivate func isNamed(_ name: String) -> Bool { names.contains(name) || base == name }
}

extension MethodDescription {
    /// Its parameters and its result, for people: `(a: Int, b: Int) -> Int`.
    fileprivate var shape: String {
        "(\(arguments.map { "\($0.label): \($0.type)" }.joined(separator: ", "))) -> \(result.type)"
    }
}

extension ServiceArguments {
    /// The arguments by label, also those that came by position.
    fileprivate func labeled(_ labels: [String]) -> [String: JSONValue] {
        switch self {
        case .labeled(let members): members
        case .positional(let values):
            Dictionary(zip(labels, values).filter { $0.0 != "_" }, uniquingKeysWith: { first, _ in first })
        }
    }
}
