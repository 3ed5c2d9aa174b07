import Threading
import Waypost
import WaypostAgent

/// What asks the agent, or its router, past the broker.
extension AgentHistory {
    func ask(_ agent: Agent, _ id: String?, _ payload: String) {
        let index = answers.withLock { answers in
            answers.append((id ?? "a command", 0))
            return answers.count - 1
        }
        scheduler.note("asked by its machine: \(payload)")
        agent.runLocally(Array(payload.utf8)) { [self] bytes in
            answers.withLock { $0[index].times += 1 }
            guard let id, let reply = try? JSONValue(parsing: bytes) else { return }
            scheduler.note("answered its machine: \(reply)")
            sees { people throws(People.Breach) in try people.locally.answered(id, reply) }
        }
    }

    /// What the program itself opens or calls is decided by the same maps.
    func ask(_ router: Router, _ probe: SentMaps.Probe, _ layer: Int, _ number: Int) {
        let (maps, question, boot) = people.withLock { people in
            let maps = people.layers[layer]
            return (maps, People.Question(probe: probe, layer: layer, since: maps.inForce), people.boot)
        }
        guard boot != lastBoot else { return }
        Task(executorPreference: AgentThreads.pool) { [self] in
            let answer: String?
            if probe == .call {
                do throws(Failure) {
                    answer = try await router.services.call(maps.service, "read()").description
                } catch {
                    answer = People.refusal(Int64(error.code.number), error.code.name, error.detail)
                }
            } else {
                answer = await Self.answer(of: router.open(maps.url(probe, number)))
            }
            sees { people throws(People.Breach) in
                try people.check(question, number, "its own program", answer)
            }
        }
    }

    private static func answer(of opening: Opening) -> String? {
        if case .opened = opening.outcome { return (opening.value ?? .null).description }
        return People.refusal(Int64(opening.code.number), opening.code.name, opening.detail)
    }
}
