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

    /// Opens a typed route, as the app declares it.
    ///
    /// - Parameter scheme: The scheme for a pattern that has none.
    /// - Throws: ``BackendError``; of kind `refused` with the code when nothing was opened, of kind `invalid` when the
    ///   route makes no URL.
    @discardableResult
    public func open<Typed: TypedRoute>(
        _ route: Typed, scheme: String = "", _ options: SendOptions = SendOptions()
    ) async throws -> OpenResult {
        try await open(try url(of: route, scheme), options)
    }

    /// Opens a typed route, and gives its answer.
    ///
    ///     let total = try await kiosk.open(TotalRoute(id: 4))
    ///
    /// - Parameter scheme: The scheme for a pattern that has none.
    /// - Throws: ``BackendError``; of kind `refused` with the code when nothing was opened, of kind `invalid` when the
    ///   route makes no URL, of kind `unreadable` when it was opened and its answer is another.
    public func open<Typed: TypedRoute>(
        _ route: Typed, scheme: String = "", _ options: SendOptions = SendOptions()
    ) async throws -> Typed.Answer where Typed.Answer: Codable {
        try await open(try url(of: route, scheme), options).value(as: Typed.Answer.self)
    }

    private func url(of route: some TypedRoute, _ scheme: String) throws(BackendError) -> String {
        do throws(RouteGenerationError) {
            return try RouteDescriptor(type(of: route).key).url(from: route, scheme: scheme)
        } catch { throw BackendError(.invalid, "\(error)") }
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

    /// The groups that it says it is in, and what the release role has made of them.
    ///
    /// - Throws: ``BackendError``; of kind `unknownReceiver` when the broker knows no such agent.
    public func groups() async throws -> AgentGroups {
        try checkName()
        return try await PublicCall.run { [self] in try await GroupsRequest(name, backend.settings).groups() }
    }

    /// Has it be in other groups, without a restart: the broker keeps that for it, and it holds across restarts.
    ///
    ///     try await backend.agent("kiosk-7").changeGroups(GroupsChange(adding: ["lobby"]))
    ///
    /// - Parameters:
    ///   - change: Which groups.
    ///   - deadline: How long its answer is waited for; nil for 10 s, and shorter for an agent known to be offline.
    ///   - allowsNew: Whether the broker keeps it also for an agent that it does not know yet; false unless given.
    /// - Returns: what the agent is in now.
    /// - Throws: ``BackendError``; of kind `refused` with the code when the agent did not take it, such as 403
    ///   `NOT_ALLOWED` where its own settings are to decide; of kind `noReply` when it will read it later.
    @discardableResult
    public func changeGroups(
        _ change: GroupsChange, deadline: Duration? = nil, allowsNew: Bool = false
    ) async throws -> AgentGroups {
        try checkName()
        let wait = ReplyWait(deadline.map { TimeSpan(milliseconds: $0.milliseconds) })
        return try await PublicCall.run { [self] in
            try await GroupsRequest(name, backend.settings, wait).change(change, allowsNew: allowsNew)
        }
    }

    /// Removes what the broker keeps of an agent that will not come back: its state, health, routes and map.
    ///
    /// - Throws: ``BackendError``; of kind `notSent` when it is online, of kind `denied` naming the topics that this
    ///   backend may not write.
    public func forget() async throws {
        let left = try await retired().remove()
        guard left.isEmpty else {
            throw BackendError(
                .denied,
                "the broker still keeps \(left.joined(separator: ", ")); its rules must let this user write there"
            )
        }
    }

    /// What the broker keeps of it.
    public func retained() async throws -> RetainedDocuments {
        try checkName()
        return try await PublicCall.run { [self] in try await RetainedDocuments.read(name, backend.settings) }
    }

    /// The same of one that will not come back, to be looked at before it is removed.
    ///
    /// - Throws: ``BackendError`` of kind `unknownReceiver` when that is nothing.
    public func retired() async throws -> RetiredAgent {
        try checkName()
        return try await PublicCall.run { [self] in try await RetiredAgent.find(name, backend.settings) }
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
        var command = command
        let settings = backend.settings
        let span = CommandSpan(&command, to: .agent(name), settings)
        let sealed = try SealedCommand(command, to: name, from: settings.name, signer: settings.signer)
        return PendingCommand(
            backend.delivery(sealed, options.deadline ?? .seconds(10), isPatient: options.deadline != nil),
            within: span)
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
