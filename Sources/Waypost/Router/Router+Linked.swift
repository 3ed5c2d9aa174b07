internal import CRouteRecords
import Synchronization
import Threading

extension Router {
    /// Registers what was declared without a list, unless that was done before.
    ///
    /// For a router that does not do it by itself (``RouterConfiguration/registersLinked``). A declaration that
    /// is refused does not keep the others out; ``linkedFailures`` names it.
    public func registerLinked() {
        if linked.load(.ofThisImage, into: self) { notifyChange() }
    }

    /// What was declared without a list and could not be registered.
    ///
    /// A conflict with another declaration, a pattern with an unknown converter, something in the section that is
    /// no record. `check()` of WaypostTools reports it, and the first open with a listener reports it once, as
    /// ``RouterEvent/Kind/warned``; without one, the first open says it on standard error.
    public var linkedFailures: [LinkedFailure] {
        loadLinked()
        return linked.failures
    }

    func loadLinked() {
        linked.loadOnce(into: self)
    }

    /// Reports once what could not be registered: to listeners, and until there is one on standard error.
    func reportLinkedFailures(url: String, ref: String?) {
        guard linked.hasUnreported else { return }
        guard !listeners.withLock({ $0.events.isEmpty }) else {
            let lines = linked.takeUnprinted().map { "waypost: \($0.detail)\n" }
            waypost_warn(lines.joined())
            return
        }
        for failure in linked.takeUnreported() {
            notify(RouterEvent(.warned, url: url, ref: ref, detail: failure.detail))
        }
    }

    /// Registers one by one, so that what is refused keeps nothing else out; gives the reasons.
    ///
    /// It uses no public function of the router, because they wait until this has ended.
    func add(_ records: LinkedRecords) -> [LinkedFailure] {
        var failures = records.faults.map { LinkedFailure(subject: "", detail: "\($0)") }
        swap { (state, _) in
            for route in records.routes {
                do throws(RegistrationError) {
                    try state.add([route], replacing: false)
                } catch {
                    let owner = route.name.map { " (declared for \($0))" } ?? ""
                    failures.append(
                        LinkedFailure(
                            subject: route.pattern?.rawValue ?? "", detail: "\(error)\(owner)"))
                }
            }
        }
        for service in records.services {
            do throws(RegistrationError) {
                try registry.add([service])
            } catch {
                failures.append(LinkedFailure(subject: service.name, detail: "\(error)"))
            }
        }
        return failures
    }
}
