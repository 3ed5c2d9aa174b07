// Indirect, for it is copied often, and most have nothing to say beside.
/// How an open ended; every open ends in exactly one of these.
public indirect enum Outcome: Sendable, Hashable {
    /// A destination took the URL.
    case opened
    /// A service method ran; its result.
    case served(JSONValue)
    /// An interceptor stopped it.
    case intercepted(by: String, reason: String)
    /// No route takes the URL; ``Opening/nearest`` has similar patterns.
    case notFound
    /// It was refused, with a code that says so: by the router, or by what a handler or an interceptor threw.
    case rejected(Failure)
    /// The handler failed, took too long, or was cancelled.
    case failed(Failure)
    /// No route took the URL, or in some dialects the page failed, and its `route_fallback_url` was opened instead.
    case fellBack(to: String)
}

extension Outcome {
    /// Rejected or failed, as the code says.
    init(_ failure: Failure) {
        self = failure.code.status == .rejected ? .rejected(failure) : .failed(failure)
    }
}
