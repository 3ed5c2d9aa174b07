import Threading

extension Terminal {
    /// Says on standard error, if it is a terminal, what is waited for; not when that is over within a second.
    ///
    /// - Parameter what: what the program does meanwhile: "asking the agents".
    static func waiting<Value>(
        while what: TerminalText, _ work: () async throws -> Value
    ) async throws -> Value {
        guard showsProgress else { return try await work() }
        let line = Task {
            try await MonotonicTime.sleep(for: .seconds(1))
            progress("\(what) …")
        }
        func end() async {
            line.cancel()
            if case .success = await line.result { progress("") }
        }
        do {
            let value = try await work()
            await end()
            return value
        } catch {
            await end()
            throw error
        }
    }
}
