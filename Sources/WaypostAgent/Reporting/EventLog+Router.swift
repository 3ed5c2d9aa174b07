import Waypost
import WaypostMessages

extension EventLog {
    /// The line for something that happened in the router or the registry.
    func log(_ event: RouterEvent) {
    }
}
