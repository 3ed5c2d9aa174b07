import Synchronization
import Threading

/// Something that an interceptor lets opens wait for: a login, a map, a module.
///
///     let login = OpenGate("login")
///     try router.intercept("login", scope: .metadata("auth")) { _ in
///         isLoggedIn() ? .proceed : .wait(for: login, atMost: .seconds(60))
///     }
///     // After the login:
///     login.open()
///
/// An open that waits holds no thread. ``Router/waitingOpens`` lists those that wait, and cancelling their tasks ends
/// them.
public final class OpenGate: Sendable, Hashable {
    /// How often any gate was opened: what an interceptor saw before its gate was opened last is out of date.
    static let openings = Atomic<UInt64>(0)

    private struct State {
        /// The number of the last time it was opened.
        var opened: UInt64 = 0
        var waiting: [UInt64: Race<TimedResult<Void>>] = [:]
        var next: UInt64 = 0
    }

    /// What it stands for, in lists and messages.
    public let name: String
    private let state = Guarded(State())

    /// A gate that no open waits for.
    public init(_ name: String) { self.name = name }

    /// Lets all opens go on that wait now: the interceptor that holds one is asked again.
    public func open() {
        let waiting = state.withLock { state in
            state.opened = Self.openings.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for race in waiting { race.finish(.finished(.success(()))) }
    }

    /// Waits until it is opened; not at all when it was since `seen`.
    nonisolated(nonsending) func wait(
        since seen: UInt64, atMost limit: Duration, clock: any Clock<Duration>
    ) async -> TimedResult<Void> {
        let race = Race<TimedResult<Void>>()
        let number = state.withLock { state -> UInt64? in
            guard state.opened <= seen else { return nil }
            state.next += 1
            state.waiting[state.next] = race
            return state.next
        }
        guard let number else { return .finished(.success(())) }
        let timer = race.finish(.deadline, after: limit, on: clock)
        let outcome = await withTaskCancellationHandler {
            await race.outcome()
        } onCancel: {
            Scheduling.undisturbed { race.finish(.canceled) }
        }
        timer()
        _ = state.withLock { $0.waiting.removeValue(forKey: number) }
        return outcome
    }

    /// Whether both are the same gate.
    public static func == (one: OpenGate, other: OpenGate) -> Bool { one === other }
    /// By identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// An open that waits for a gate.
public struct WaitingOpen: Sendable, Hashable {
    /// The URL after all redirects so far.
    public var url: String
    /// The name of the gate.
    public var gate: String
    /// The interceptor that holds it.
    public var interceptor: String
    /// Since when, in milliseconds since 1970.
    public var since: Int64
    /// The id of the command that opens the URL.
    public var ref: String?
    /// Who asked for it: the sender of the command; nil for the program itself.
    public var caller: String?

    /// `{"url","gate","since","ref","from"}`; of the query the URL has the keys only.
    package var json: JSONValue {
        var members: [String: JSONValue] = [
            "url": .string(RouteURL.withoutValues(url)), "gate": .string(gate), "since": .int(since),
        ]
        if let ref { members["ref"] = .string(ref) }
        if let caller { members["from"] = .string(caller) }
        return .object(members)
    }
}

/// The opens of a router that wait, and the limit of their number.
struct WaitingOpens: Sendable {
    /// The most opens that wait at a time; what comes on top ends with 429.
    static let maximum = 1_000
    /// The most of one sender of commands, so that none takes the places of all others.
    static let maximumOfCaller = 250

    private var opens: [UInt64: WaitingOpen] = [:]
    private var next: UInt64 = 0

    /// In the order in which they began to wait.
    var all: [WaitingOpen] { opens.sorted { $0.key < $1.key }.map(\.value) }

    /// - Throws: ``Failure`` 429 when there are too many.
    mutating func add(_ open: WaitingOpen) throws(Failure) -> UInt64 {
        guard opens.count < Self.maximum else {
            throw Failure(.busy, "\(Self.maximum) opens are already waiting")
        }
        if let caller = open.caller {
            guard opens.values.count(where: { $0.caller == caller }) < Self.maximumOfCaller else {
                throw Failure(.busy, "\(Self.maximumOfCaller) opens of \(caller) are already waiting")
            }
        }
        next += 1
        opens[next] = open
        return next
    }

    mutating func remove(_ number: UInt64) { opens[number] = nil }
}

extension Router {
    /// The opens that wait for a gate at this moment, the longest first.
    public var waitingOpens: [WaitingOpen] { waiting.withLock { $0.all } }
}
