/// Two patterns that no URL can tell apart, with one priority: `/orders/:id` and `/orders/:number`.
package struct RouteConflict: Error, Hashable, Sendable, CustomStringConvertible {
    /// The pattern that should have been added.
    package var pattern: String
    /// The pattern that is there already.
    package var rival: String
    /// The priority that both have.
    package var priority: Int
    /// The index that the rival was inserted with.
    package var rivalIndex: UInt32

    /// Names both patterns.
    package init(pattern: String, rival: String, priority: Int = 0, rivalIndex: UInt32 = 0) {
        self.pattern = pattern
        self.rival = rival
        self.priority = priority
        self.rivalIndex = rivalIndex
    }

    /// For example `insert /orders/:id: already held by /orders/:number`.
    package var description: String {
        "insert \(pattern): already held by \(rival)"
    }
}
