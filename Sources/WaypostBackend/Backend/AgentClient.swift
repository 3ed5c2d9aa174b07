public import Waypost
import WaypostMessages

/// One agent, as a backend sees it.
///
///     let lights = backend.agent("kiosk-7")
///     try await lights.open("kiosk://orders/17")
///     let sum = try await lights.call("CalculatorService", "add", [2, 40], as: Int.self)
///
/// Every call ends with `CancellationError` when its task is cancelled, or when a graceful shutdown begins meanwhile; what
/// was sent may run all the same.
public struct AgentClient: Sendable {
    /// The agent's name.
    public let name: String
    let backend: Backend

    // MARK: Commands

    /// Opens a URL.
    ///
    /// - Throws: ``BackendError``; of kind `refused` with the code when nothing was opened.
    @discardableResult
    public func open(
        _ url: String, parameters: [String: JSONValue] = [:], _ options: SendOptions = SendOptions()
    ) async throws -> OpenResult {
        OpenResult(try await perform(.open(url, parameters: parameters), options), of: url)
    }

    /// Calls a method of an exposed service, the arguments by position.
    ///
    /// - Throws: ``BackendError``; of kind `refused` with the code when it was not called, or failed.
    public func call<T: Decodable>(
        _ service: String, _ method: String, _ arguments: [JSONValue] = [], as type: T.Type,
        _ options: SendOptions = SendOptions()
    ) async throws -> T {
        try await perform(.call(service, method, arguments), options).result(as: type)
    }

    /// Calls a method of an exposed service, the arguments by label.
    ///
    /// - Throws: ``BackendError``; of kind `refused` with the code when it was not called, or failed.
    public func call<T: Decodable>(
        _ service: String, _ method: String, labeled arguments: [String: JSONValue], as type: T.Type,
        _ options: SendOptions = SendOptions()
    ) async throws -> T {
        try await perform(.call(service, method, labeled: arguments), options).result(as: type)
    }

    /// Calls a method of an exposed service; returns its result as JSON.
    @discardableResult
    public func call(
        _ service: String, _ method: String, _ arguments: [JSONValue] = [],
        _ options: SendOptions = SendOptions()
    ) async throws -> JSONValue {
        try await perform(.call(service, method, arguments), options).result
    }

    /// Changes what is shown: back, dismiss, to the root, to a tab.
    public func navigate(
        _ move: NavigationMove, _ options: SendOptions = SendOptions()
    ) async throws {
        _ = try await perform(.navigate(move), options)
    }

    /// Changes which events the agent publishes, for a time.
    ///
    /// - Parameters:
    ///   - level: The lowest that is published.
    ///   - tag: Only for events with this tag; nil for all.
    ///   - duration: How long; a longer one than an hour is an hour.
    public func setLogLevel(
        _ level: AgentEvent.Level, tag: String? = nil, for duration: Duration = .seconds(600),
        _ options: SendOptions = SendOptions()
    ) async throws {
        _ = try await perform(.log(level, tag: tag, for: duration), options)
    }

    /// Removes what the broker keeps of an agent that will not come back: its state, health, routes and map.
    ///
    /// - Throws: ``BackendError``; of kind `notSent` when it is online, of kind `denied` naming the topics that this
    ///   backend may not write.
    public func forget() async throws {
        try checkName()
        let left = try await PublicCall.run { [self] in
            let retired = try await RetiredAgent.find(name, backend.settings)
            guard retired.state?.isOnline != true else {
                throw BackendError(.notSent, "\(name) is online; stop it before it is forgotten")
            }
            return try await retired.remove()
        }
        guard left.isEmpty else {
            throw BackendError(
                .denied,
                "the broker still keeps \(left.joined(separator: ", ")); its rules must let this user write there"
            )
        }
    }

    /// Cancels a command of this backend that waits or runs.
    public func cancel(_ id: String, _ options: SendOptions = SendOptions()) async throws {
        _ = try await perform(.cancel(id), options)
    }

    /// Asks for the health.
    public func ping(_ options: SendOptions = SendOptions()) async throws -> AgentHealth {
        AgentHealth(try await perform(.ping, options).result)
    }

    /// Sends a command; what becomes of it is awaited there.
    public func send(
        _ command: AgentCommand, _ options: SendOptions = SendOptions()
    ) throws(BackendError) -> PendingCommand {
        try send(Command(command, options, isSealed: backend.settings.signer != nil), options)
    }

    /// Sends a command and waits for its result; in a task that was cancelled before, it sends nothing.
    private func perform(_ command: AgentCommand, _ options: SendOptions) async throws -> CommandReply {
        try await perform(Command(command, options, isSealed: backend.settings.signer != nil), options)
    }

    func perform(_ command: Command, _ options: SendOptions) async throws -> CommandReply {
        try Task.checkCancellation()
        return try await send(command, options).result()
    }

    private func send(_ command: Command, _ options: SendOptions) throws(BackendError) -> PendingCommand {
        try checkName()
        let settings = backend.settings
        let sealed = try SealedCommand(command, to: name, from: settings.name, signer: settings.signer)
        return PendingCommand(
            backend.delivery(sealed, options.deadline ?? .seconds(10), isPatient: options.deadline != nil))
    }

    /// A command that is not sent yet, but ready to be, as often as needed.
    public func seal(
        _ command: AgentCommand, _ options: SendOptions = SendOptions()
    ) throws(BackendError) -> SealedCommand {
        try checkName()
        let settings = backend.settings
        return try SealedCommand(
            Command(command, options, isSealed: true), to: name, from: settings.name, signer: settings.signer)
    }

    func checkName() throws(BackendError) {
        guard Name.isValid(name) else {
            throw BackendError(
                .invalid, "an agent's name is 1 to 64 characters of A-Z a-z 0-9 _ -; found \(name.quoted)")
        }
    }
}
