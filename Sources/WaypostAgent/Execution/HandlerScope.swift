/// What runs around each handler, method and move that a command asks for; it must await its operation once.
public typealias HandlerScope =
    @Sendable (_ operation: nonisolated(nonsending) () async -> Void) async -> Void
