import Waypost
import WaypostMessages

extension Redaction {
    /// The end of a command with all its texts masked; what a handler or a method returned stays as it is.
    func masked(_ ended: EndedCommand) -> EndedCommand {
        var result = ended.result
        result.detail = result.detail.map(masked)
        result.nearest = result.nearest.map(masked)
        // The value of a handler goes to its sender as it is; what one throws may quote what it was given.
        result.payload = result.payload.map(masked)
        if case .object(let members) = result.value {
            switch ended.job.header.kind {
            case .open: result.value = .object(masked(opening: members, result.url))
            // Where what is masked was sent on, it would be lost.
            case .maps:
                let masked = masked(members)
                result.value = .object(masked == members ? masked : masked.merging(["masked": true]) { $1 })
            case .resolve: result.value = .object(masked(members))
            case .navigate: result.value = .object(masked(members))
            // For its sender, like the value of an open.
            case .call: break
            // Made of what was masked when it was stored, or when health was made.
            case .ping, .failures, .inspect: break
            // Times, numbers, and the ids of commands.
            case .cancel, .log, .replay: break
            // It was not run.
            case nil: result.value = .null
            }
        }
        return EndedCommand(job: ended.job, result: result, milliseconds: ended.milliseconds)
    }

    /// The URLs of an open are for its sender and keep the values of their query; that of a call does not need them.
    private func masked(opening: [String: JSONValue], _ url: String?) -> [String: JSONValue] {
        var masked = masked(opening)
        masked["value"] = opening["value"]
        if let url, opening["route"]?.isNull == true {
            masked["url"] = .string(self.masked(RouteURL.withoutValues(url)))
        }
        return masked
    }

    /// A reply to a command that is not stored.
    func masked(_ reply: Reply) -> Reply {
        var reply = reply
        reply.detail = reply.detail.map(masked)
        reply.nearest = reply.nearest.map(masked)
        let text = reply.progress?.text.map(masked)
        reply.progress?.text = text
        return reply
    }

    func masked(_ report: FailureReport) -> FailureReport {
        var report = report
        report.url = report.url.map { masked(RouteURL.withoutValues($0)) }
        report.detail = masked(report.detail)
        report.nearest = report.nearest.map(masked)
        return report
    }

    /// The map in force: its reasons quote the URLs of entries.
    func masked(_ applied: AppliedMap) -> AppliedMap {
        var applied = applied
        for index in applied.inactive.indices {
            applied.inactive[index].reason = masked(applied.inactive[index].reason)
        }
        for index in applied.conditional.indices {
            applied.conditional[index].reason = masked(applied.conditional[index].reason)
        }
        if let refused = applied.refused { applied.refused?.detail = masked(refused.detail) }
        return applied
    }

    func masked(_ checks: [HealthCheck]) -> [HealthCheck] {
        checks.map {
            var check = $0
            check.detail = masked(check.detail)
            return check
        }
    }

    func masked(_ cause: AgentState.Cause) -> AgentState.Cause {
        AgentState.Cause(
            cause.code, masked(cause.detail).cut(to: AgentState.Cause.maximumDetail), at: cause.at)
    }
}
