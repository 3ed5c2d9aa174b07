/// How an open ended; every open ends in exactly one of these.
public enum Outcome: Sendable, Hashable {
    /// A destination took the URL.
    case opened
    /// A service method ran; its result.
    case served(JSONValue)
    /// An interceptor stopped it.
    case intercepted(by: String, reason: String)
    /// No route takes the URL; the patterns that are near, at most three.
    case notFound(nearest: [String])
    /// It was refused before anything ran.
    case rejected(Rejection)
    /// What ran failed, took too long, or was cancelled.
    case failed(RouteFailure)
    /// No route took the URL, and the one of its `route_fallback_url` was opened.
    case fellBack(to: String)
}

extension RouteFailure {
    init(_ failure: ServiceFailure) {
        self.init(failure.code, failure.detail)
    }
}
