import Waypost
import WaypostBackend
import WaypostMessages

/// The longest texts of others that the console keeps, in bytes: what can be shown.
///
/// All that it keeps of the fleet is counted in bytes as well as in pieces, since a broker takes a message of 256 MiB,
/// and an agent may say anything in it.
enum SeenText {
    static let name = 256
    static let url = 2_048
    /// Of a failure, or of what is wrong with an agent.
    static let detail = 2_048
    /// More groups of one agent are not shown.
    static let groups = 100
}

extension AgentStatus {
    /// With texts that are no longer than what can be shown; all of it stays with the documents.
    var shortened: AgentStatus {
        var summary = self
        summary.problem = problem.cut(to: SeenText.detail)
        summary.map = map.cut(to: SeenText.detail)
        summary.version = version.cut(to: SeenText.name)
        summary.state = state.cut(to: SeenText.name)
        summary.health = health.cut(to: SeenText.name)
        summary.groups = groups.prefix(SeenText.groups).map { $0.cut(to: SeenText.name) }
        return summary
    }
}

extension AgentEvent {
    /// The line without what is not shown: what it came as, and texts that are longer than an agent's own.
    var shortened: AgentEvent {
        var line = self
        line.source = []
        line.event.message = event.message.cut(to: LogEvent.maximumMessageBytes)
        line.event.tag = event.tag.cut(to: SeenText.name)
        line.event.ref = event.ref?.cut(to: SeenText.name)
        line.event.url = event.url?.cut(to: SeenText.url)
        line.reportID = nil
        line.code = line.code.map { Code(number: $0.number, name: $0.name.cut(to: SeenText.name)) }
        return line
    }
}

extension FailureReport {
    /// The report without what is not shown.
    var shortened: FailureReport {
        var report = self
        report.id = id.cut(to: SeenText.name)
        report.code = Code(number: code.number, name: code.name.cut(to: SeenText.name))
        report.ref = ref?.cut(to: SeenText.name)
        report.url = url?.cut(to: SeenText.url)
        report.detail = detail.cut(to: SeenText.detail)
        report.nearest = []
        report.map?.layer = map?.layer.cut(to: SeenText.name) ?? ""
        return report
    }
}
