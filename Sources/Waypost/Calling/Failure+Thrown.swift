extension Failure {
    /// What an error means that user code threw.
    ///
    /// - Parameter subject: What ran: the pattern of a route, a method, an interceptor.
    init(of error: any Error, from subject: String) {
        self =
            switch error {
            // A failure is none with this code, and must not pass for success.
            case let failure as Failure where failure.code == .ok:
                .handlerFailed("\(subject) threw a failure with the code \(failure.code): \(failure.detail)")
            case let failure as Failure: failure
            case let error as ParameterError: .badField("\(subject): \(error)")
            case is CancellationError: .canceled(subject)
            case let error as DecodingError:
                .handlerFailed("\(subject) failed: \(error.place) \(error.reason)")
            default: .handlerFailed("\(subject) failed: \(error)")
            }
    }
}
