/// Runs what may take a moment, and cancels it when its time is over; throws ``Timeout`` then.
public func patiently<Value: Sendable>(
    _ what: String, within quiet: Duration = Patience.usual,
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        defer { group.cancelAll() }
        group.addTask { try await body() }
        group.addTask {
            var patience = Patience(quiet)
            repeat { try await Task.sleep(for: Patience.look) } while !patience.isOver(at: 0)
            return nil
        }
        guard let value = try await group.next() ?? nil else { throw Timeout(what: what) }
        return value
    }
}
