import Threading

/// The gatekeeper, once the port is known that it stands before.
final class GateBox: Sendable {
    private let box = Guarded<Gatekeeper?>(nil)

    var gate: Gatekeeper? { box.withLock { $0 } }

    func open(_ gate: Gatekeeper) { box.withLock { $0 = gate } }
}
