import Waypost
import WaypostFleet
import WaypostMessages

extension RolloutPlan {
    /// Which clients a plan shows, by what they say of themselves: all of it must fit.
    public struct Selection: Sendable, Hashable {
        /// Labels that they have, with these values.
        let labels: [String: String]
        /// The versions of the app that they have; nil for any.
        let app: String?

        /// Clients with these labels, or with these versions.
        ///
        /// - Parameter app: A range of versions, `<2.5` or `>=2.1 <3`.
        /// - Throws: ``BackendError`` of kind `invalid` for what is no range, and where nothing is asked for.
        public init(labels: [String: String] = [:], app: String? = nil) throws(BackendError) {
            guard app.map({ AppRange($0) != nil }) ?? true else {
                throw BackendError(
                    .invalid,
                    "app must be a range of versions, such as <2.5 or >=2.1 <3; found \(app?.quoted ?? "")")
            }
            guard !labels.isEmpty || app != nil else {
                throw BackendError(.invalid, "a selection names a label, or versions of the app")
            }
            (self.labels, self.app) = (labels, app)
        }

        /// `region=eu, app<2.5`.
        var text: String {
            let facts = labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return (facts + (app.map { ["app\($0)"] } ?? [])).joined(separator: ", ")
        }

        func filter(in group: String) -> RosterFilter {
            RosterFilter(group: group, labels: labels, app: app.flatMap { AppRange($0) })
        }
    }
}
