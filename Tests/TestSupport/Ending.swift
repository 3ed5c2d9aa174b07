public import Waypost

/// What a call gives or throws, as a value to be compared; an error that is no failure is one with that text.
nonisolated(nonsending) public func ending<Value>(
    _ call: nonisolated(nonsending) () async throws -> Value
) async -> Result<Value, Failure> {
    do {
        return .success(try await call())
    } catch {
        return .failure(error as? Failure ?? Failure(.handlerFailed, "\(error)"))
    }
}
