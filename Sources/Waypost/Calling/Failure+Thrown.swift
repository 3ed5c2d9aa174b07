extension Failure {
    /// What an error means that user code threw.
    ///
    /// - Parameter subject: What ran: the pattern of a route, a method, an interceptor.
    init(of error: any Error, from subject: String) {
        self =
            switch error {
            case let failure as Failure: failure
            case let error as ParameterError: .badField("\(subject): \(error)")
            case is CancellationError: .canceled(subject)
            case let error as DecodingError:
                .handlerFailed("\(subject) failed: \(error.place) \(error.reason)")
            default: .handlerFailed("\(subject) failed: \(error)")
            }
    }
}
