import Waypost

extension FailureReport {
    /// The tag under which failure reports are shown and filtered.
    package static let tag = "Fail"

    /// The report in the form of an event of level E, as it is shown in the log and as queries look at it.
    package var event: LogEvent {
        var message = "\(code) in \(origin.rawValue): \(detail)"
        let unnamed = NearestNames.unnamed(nearest, in: detail)
        if !unnamed.isEmpty { message += "; nearest: \(unnamed.joined(separator: ", "))" }
        if let ref { message += "; ref \(ref)" }
        if count > 1 { message += "; \(count) times" }
        return LogEvent(
            time: last, level: .error, tag: Self.tag, boot: "", sequence: 0, process: 0, thread: 0,
            message: message, url: url, isError: true, ref: ref)
    }
}
