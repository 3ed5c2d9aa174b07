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
    /// It was refused before anything ran.
    case rejected(Rejection)
    /// The handler failed, took too long, or was cancelled.
    case failed(RouteFailure)
    /// No route took the URL, or in some dialects the page failed, and its `route_fallback_url` was opened instead.
    case fellBack(to: String)
}

extension RouteFailure {
    init(_ failure: ServiceFailure) {
        self.init(failure.code, failure.detail)
    }
}
