import WaypostMessages

extension EventLog {
    /// The event that goes with a failure report, with the same `ref`.
    func log(_ failure: FailureReport) {
        log(
            .error, failure.origin.tag, "\(failure.code): \(failure.detail)",
            url: failure.url, isError: true, ref: failure.ref)
    }
}

extension FailureReport.Origin {
    /// The tag of its events.
    var tag: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
}
