import Threading
public import Waypost
import WaypostBackend

/// An agent of a ``TestBackend``, which goes wrong as it is told.
///
/// What a command is about has a name: the pattern of a route as it is registered, `kiosk://orders/:id`, or a method,
/// `VolumeService.set(percent:)`, or `VolumeService.set` where that is one method only. What a name is told holds until
/// ``recover(_:)``.
public final class TestAgent: Sendable {
    /// An open or a call that came to it.
    public struct Received: Sendable, Hashable {
        /// The pattern of the route, or the method with its service.
        public let name: String
        /// The parameters of the open, an object; the arguments of the call, an array by position or an object by label.
        public let values: JSONValue
        /// The sender of the command; nil when the program itself did it.
        public let sender: String?

        /// One by its parts, to compare with.
        public init(name: String, values: JSONValue, sender: String?) {
            (self.name, self.values, self.sender) = (name, values, sender)
        }
    }

    private enum Trouble: Sendable {
        case failure(Failure)
        case delay(Duration)
        case silence
    }

    private struct State {
        var troubles: [String: Trouble] = [:]
        var received: [Received] = []
        /// What the commands are about whose replies get lost, by their senders and ids.
        var silenced: [[String]: String] = [:]
    }

    let life: TestLife
    private let state = Guarded(State())
    private var router: Router { life.router }

    init(_ life: TestLife) { self.life = life }

    /// Its name.
    public var name: String { life.name }

    /// Hears of each open and call from now on.
    func listen() throws {
        // Before those of the program, which may stop what is to be heard of here.
        try router.intercept("TestAgent", priority: .max, deadline: .seconds(86_400)) { [weak self] request in
            try await self?.meet(request.route, .object(request.parameters.merged), request.context)
            return .proceed
        }
        router.services.willCall("TestAgent", deadline: .seconds(86_400)) { [weak self] call in
            let values: JSONValue =
                switch call.arguments {
                case .positional(let values): .array(values)
                case .labeled(let values): .object(values)
                }
            try await self?.meet("\(call.service).\(call.method)", values, call.context)
            return .proceed
        }
    }

    private func meet(_ name: String, _ values: JSONValue, _ context: OpenContext) async throws {
        let trouble = state.withLock { state in
            state.received.append(Received(name: name, values: values, sender: context.caller))
            let trouble = state.troubles[name]
            if case .silence = trouble, let sender = context.caller, let id = context.ref {
                state.silenced[[sender, id]] = name
            }
            return trouble
        }
        switch trouble {
        case .failure(let failure): throw failure
        case .delay(let duration): try await MonotonicTime.sleep(for: duration)
        case .silence, nil: break
        }
    }

    /// Whether the reply to a command gets lost.
    func silences(_ id: String, of sender: String) -> Bool {
        state.withLock { $0.silenced[[sender, id]] != nil }
    }

    /// The opens and calls that came to it, in order.
    public var received: [Received] { state.withLock(\.received) }

    // MARK: What goes wrong

    /// From now on what has this name ends with a failure, and its handler does not run.
    ///
    /// - Throws: `Failure` 404 when nothing has the name.
    public func fail(_ name: String, with failure: Failure) throws(Failure) {
        try trouble(name, .failure(failure))
    }

    /// From now on what has this name begins only after a while.
    ///
    /// - Throws: `Failure` 404 when nothing has the name.
    public func delay(_ name: String, by duration: Duration) throws(Failure) {
        try trouble(name, .delay(duration))
    }

    /// From now on what has this name is done, and no reply arrives, not even that it was accepted.
    ///
    /// - Throws: `Failure` 404 when nothing has the name.
    public func silence(_ name: String) throws(Failure) { try trouble(name, .silence) }

    /// What has this name is done as it was at first; replies that got lost come when the command is sent again.
    ///
    /// - Throws: `Failure` 404 when nothing has the name.
    public func recover(_ name: String) throws(Failure) { try trouble(name, nil) }

    private func trouble(_ name: String, _ trouble: Trouble?) throws(Failure) {
        let known = try find(name)
        state.withLock { state in
            state.troubles[known] = trouble
            if trouble == nil { state.silenced = state.silenced.filter { $0.value != known } }
        }
    }

    private func find(_ name: String) throws(Failure) -> String {
        let paths = router.routes.map(\.path)
        if paths.contains(name) { return name }
        if !name.contains("://"), let dot = name.firstIndex(of: ".") {
            let service = String(name[..<dot])
            let method = try router.services.description(
                of: String(name[name.index(after: dot)...]), in: service
            )
            .get()
            return "\(service).\(method.name)"
        }
        let nearest = NearestNames.find(name, among: paths)
        throw Failure(
            .noRoute,
            "no route has the pattern \(name)"
                + (nearest.isEmpty ? "" : "; similar are \(nearest.joined(separator: ", "))"),
            nearest: nearest)
    }

    // MARK: Its life

    /// Its power is cut: nothing leaves it any more, and its will says so.
    public func cutPower() async { await life.end(isKilled: true) }

    /// It stops, as at the end of its program.
    public func stop() async { await life.end(isKilled: false) }

    /// It starts again after its end, with the state that it had, and this returns when it is online.
    ///
    /// - Throws: What an agent says that does not start.
    public func start() async throws { try await life.start() }
}
