import Waypost
package import WaypostMessages

extension EventLog {
    /// The line for something that happened in the router.
    ///
    /// Steps are verbose, ends are information. An end that failed and belongs to a command is left to its failure
    /// report, which writes the same line once it is known how the command ended.
    func log(_ event: RouterEvent) {
        let level: LogLevel
        switch event.kind {
        case .willOpen, .redirected: level = .verbose
        case .opened, .waiting: level = .info
        case .fellBack, .warned: level = .warning
        case .failed, .intercepted:
            guard event.ref == nil else { return }
            level = .error
        }
        let url = level == .verbose ? event.url : RouteURL.withoutValues(event.url)
        let text = event.detail.isEmpty ? "\(event.kind.rawValue) \(url)" : event.detail
        log(level, "Router", text, url: url, isError: event.isError, of: reference(event.ref))
    }

    /// The line for a call of a service.
    func log(_ event: ServiceEvent) {
        switch event.kind {
        case .called: log(.verbose, "Service", "called \(event.subject)", of: reference(event.ref))
        case .returned: log(.info, "Service", "returned \(event.subject)", of: reference(event.ref))
        case .threw:
            guard event.ref == nil else { return }
            log(.error, "Service", "threw \(event.subject): \(event.detail)", isError: true)
        }
    }
}

extension EventLog {
    /// The event that goes with a failure report, with the same `ref`.
    func log(_ failure: FailureReport) {
        log(
            .error, failure.origin.tag, "\(failure.code): \(failure.detail)",
            url: failure.url, isError: true,
            of: failure.ref.map { CommandReference(id: $0, trace: failure.trace) })
    }
}

/// The command that an event of the router names: it runs in that command's task.
private func reference(_ id: String?) -> CommandReference? {
    id.map { CommandReference(id: $0, trace: CommandReference.current?.trace) }
}

extension ServiceEvent {
    fileprivate var subject: String {
        var text = service
        // Space for the text in which it stands, too.
        text.reserveCapacity(service.utf8.count + method.utf8.count + 16)
        text += "."
        text += method
        return text
    }
}

extension FailureReport.Origin {
    /// The tag of its events.
    package var tag: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
}
