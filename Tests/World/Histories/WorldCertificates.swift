import MQTTLink
import Threading
import WaypostAgent

/// The files of an agent's certificate, on a disk of the world.
///
/// What the agent does with them is one step after the other, with no other thread of its own between; its machine may come
/// to its end behind each.
final class WorldCertificates: CertificateDisk {
    struct State: Codable {
        var files = WorldFiles()
        /// Those that are in use, in folders that need not be the same.
        let certificate: String
        let key: String

        init(_ first: WorldCertificate, areApart: Bool) {
            (certificate, key) = ("certs/k1.pem", areApart ? "keys/k1.key" : "certs/k1.key")
            files.put(certificate, first.text)
            files.put(key, WorldCertificate.key(first.key))
            files.syncAll()
        }
    }

    private struct Machine {
        var state: State
        var failsSyncs = false
        /// After how many more of its own steps it comes to its end.
        var steps: Int?
    }

    let paths: CertificateFiles
    private let scheduler: SeededScheduler
    private let machine: Guarded<Machine>
    /// Called when a file has taken the place of another.
    private let moved = Callback<Bool, Void> { _ in }

    init(_ scheduler: SeededScheduler, _ state: State) {
        self.scheduler = scheduler
        machine = Guarded(Machine(state: state))
        paths = CertificateFiles(certificate: state.certificate, key: state.key)
    }

    /// What is left of it when the machine starts again, as a whole or after a loss of power.
    func rest(_ draws: inout Draws) -> State {
        var state = machine.withLock(\.state)
        if Int.random(in: 0...2, using: &draws) > 0 { state.files.lose(&draws) }
        return state
    }

    private func change<Result: Sendable>(_ body: (inout Machine) -> Result) -> Result {
        scheduler.hold(passes: false)
        defer { scheduler.letGo() }
        return machine.withLock(body)
    }

    /// Something that the agent does.
    private func step<Result: Sendable>(_ body: (inout Machine) -> Result) -> Result {
        let (result, isLast) = change { machine in
            let result = body(&machine)
            machine.steps? -= 1
            return (result, machine.steps == 0)
        }
        if isLast { scheduler.crash() }
        return result
    }

    func text(_ path: String) -> String? { change { $0.state.files.text(path) } }
    var inUse: (certificate: String?, key: String?) { (text(paths.certificate), text(paths.key)) }

    /// Another program writes a file; what it does not sync may be lost.
    func put(_ path: String, _ text: String, isOpen: Bool = false, inPlace: Bool, syncs: Bool) {
        change { machine in
            machine.state.files.put(path, text, isOpen: isOpen, inPlace: inPlace)
            if syncs { machine.state.files.syncAll() }
        }
    }

    func failSyncs(_ fails: Bool) { change { $0.failsSyncs = fails } }
    func die(after steps: Int) { change { $0.steps = steps } }

    func onMove(_ call: @escaping @Sendable (_ isKey: Bool) -> Void) { moved.set(call) }

    // MARK: What the agent asks for

    func certificate(in path: String) -> Certificate? {
        WorldCertificate(text(path)).map {
            Certificate(subject: "/CN=k1", notBefore: $0.notBefore, notAfter: $0.notAfter)
        }
    }

    func fits(_ certificate: String, key: String) -> Bool? {
        guard let key = text(key), key.hasSuffix(" end") else { return nil }
        return WorldCertificate(text(certificate)).map { WorldCertificate.key($0.key) == key }
    }

    func mark(of path: String) -> FileMark? {
        change { $0.state.files.mark(path).map(FileMark.init(number:)) }
    }

    func canOthersWrite(_ path: String) -> Bool { change { $0.state.files.isOpen(path) } }

    func move(_ path: String, to place: String) throws(CertificateFault) {
        scheduler.hold(passes: false)
        defer { scheduler.letGo() }
        guard step({ $0.state.files.move(path, to: place) }) else {
            throw CertificateFault(text: "rename \(path) to \(place): there is none")
        }
        moved(place == paths.key)
    }

    func sync(_ path: String) throws(CertificateFault) {
        let isDone = step { machine in
            if !machine.failsSyncs { machine.state.files.sync(path) }
            return !machine.failsSyncs
        }
        guard isDone else { throw CertificateFault(text: "sync \(path): Input/output error") }
    }
}
