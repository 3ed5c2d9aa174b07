/// What a map does to calls of a service, or of one of its methods.
package struct CallRule: Sendable {
    /// What it does.
    enum Effect: Sendable {
        /// The call ends with this.
        case off(Failure)
        /// The call returns this, and no method runs.
        case answer(JSONValue)
        /// Another method runs.
        case replace(RelocationEntry.Method)
        /// The call goes on as without a map.
        case none
    }

    /// The service or the method.
    package let subject: RelocationEntry.Subject
    let effect: Effect
    /// The methods of the service to which it does not apply.
    private let except: [String]
    package let place: RelocationPlan.Place
    /// When it applies; nil for always.
    package let condition: RelocationCondition?
    /// Why its condition can't be used, so that it never applies.
    let fault: String?

    /// The rule of an entry about calls; nil for the others.
    init?(_ entry: RelocationEntry, _ place: RelocationPlan.Place) {
        guard let subject = entry.subject, entry.pages == nil else { return nil }
        switch entry.kind {
        case .off(_, let reason, let code):
            effect = .off(Failure(switchedOff: subject.text, reason, code, by: place))
        case .answer(_, let value): effect = .answer(value)
        case .replaceMethod(_, let other): effect = .replace(other)
        default: effect = .none
        }
        self.subject = subject
        except = entry.except
        self.place = place
        (condition, fault) = RelocationConditionReader.condition(of: entry) { _ in nil }
    }

    /// The service that it is about.
    package var service: String {
        switch subject {
        case .pages(let text), .service(let text): text
        case .method(let method): method.service
        }
    }

    /// Whether it is about a method.
    fileprivate func names(_ isNamed: (String) -> Bool) -> Bool {
        if case .method(let named) = subject { isNamed(named.name) } else { true }
    }

    fileprivate func excepts(_ isNamed: (String) -> Bool) -> Bool { except.contains(where: isNamed) }

    /// What it does, for people.
    fileprivate var text: String {
        switch effect {
        case .off(let failure): "\(subject.text): off, \(failure.code)"
        case .answer: "\(subject.text): a fixed answer"
        case .replace(let other): "\(subject.text): \(other.text) instead"
        case .none: "\(subject.text): on"
        }
    }
}

/// What maps do to calls, by service.
package struct CallRules: Sendable {
    /// Those of each service or method, in the order in which they are tried: of a service, methods come first.
    private var byService: [String: [[CallRule]]] = [:]

    /// Whether calls need not look at it.
    var isEmpty: Bool { byService.isEmpty }
    /// All rules, in no order.
    package var all: [CallRule] { byService.values.flatMap { $0.joined() } }
    /// The alternatives about each service or method.
    package var alternatives: [[CallRule]] {
        byService.sorted { $0.key < $1.key }.flatMap(\.value)
    }

    init() {}

    init(_ rules: [[CallRule]]) {
        for alternatives in rules where !alternatives.isEmpty {
            byService[alternatives[0].service, default: []].append(alternatives)
        }
        for (service, rules) in byService {
            func isOfMethod(_ alternatives: [CallRule]) -> Bool {
                if case .method = alternatives[0].subject { true } else { false }
            }
            byService[service] = rules.filter(isOfMethod) + rules.filter { !isOfMethod($0) }
        }
    }

    /// The rule that applies to a call, and why.
    ///
    /// - Parameters:
    ///   - isNamed: Whether callers may mean the method by a name.
    ///   - requester: Who asks; made only for a rule with a condition.
    ///   - decisions: Gets what was decided; nil when no one reads it.
    func rule(
        of service: String, isNamed: (String) -> Bool, _ requester: () -> RelocationRequester,
        _ decisions: inout [RelocationDecision]?
    ) -> CallRule? {
        for rule in (byService[service] ?? []).joined() where rule.names(isNamed) {
            guard !rule.excepts(isNamed) else {
                decisions?.append(rule.place.decision(false, "\(rule.subject.text) except this method"))
                continue
            }
            guard let condition = rule.condition else {
                decisions?.append(rule.place.decision(true, rule.text))
                return rule
            }
            let (holds, reason) = condition.decide(ConditionInput(requester: requester(), page: nil))
            decisions?.append(rule.place.decision(holds, holds ? "\(reason), \(rule.text)" : reason))
            if holds { return rule }
        }
        return nil
    }
}
