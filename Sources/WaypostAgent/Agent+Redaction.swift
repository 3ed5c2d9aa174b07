import Waypost
import WaypostMessages

extension Redaction {
    /// The result with its texts masked; what a handler or a method returned stays as it is.
    ///
    /// The URLs of an open are for its sender and keep the values of their query; that of a call does not need them.
    func masked(_ result: CommandResult) -> CommandResult {
        var result = result
        result.detail = result.detail.map(masked)
        result.nearest = result.nearest.map(masked)
        if let url = result.url, case .object(var opening) = result.value {
            opening["url"] =
                opening["route"]?.isNull == true
                ? .string(masked(RouteURL.withoutValues(url))) : opening["url"].map(masked)
            opening["hops"] = opening["hops"].map(masked)
            result.value = .object(opening)
        }
        return result
    }

    /// A reply to a command that is not stored.
    func masked(_ reply: Reply) -> Reply {
        var reply = reply
        reply.detail = reply.detail.map(masked)
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
        if let refused = applied.refused { applied.refused?.detail = masked(refused.detail) }
        return applied
    }

    func masked(_ checks: [HealthReport.Check]) -> [HealthReport.Check] {
        checks.map { HealthReport.Check($0.name, isOK: $0.isOK, detail: masked($0.detail)) }
    }
}
