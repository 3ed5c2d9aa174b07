/// What is refused while a map is read and checked: the first is thrown, or, for a check, all are kept.
package struct RelocationRefusals: Sendable {
    private let keepsAll: Bool
    /// What was refused, as it was found; empty where the first is thrown.
    package private(set) var errors: [RelocationError] = []
    private var known: Set<RelocationError> = []
    /// The entries that take no part: those that are refused, and those that only lead to one of them.
    package private(set) var leftOut: Set<RelocationPlan.Place>
    /// The entries that a circle or a chain leads over that was refused.
    private var followed: Set<RelocationPlan.Place> = []

    /// The first is thrown.
    init() {
        keepsAll = false
        leftOut = []
    }

    /// All are kept.
    ///
    /// - Parameter leftOut: Entries that were refused before.
    package init(leavingOut leftOut: Set<RelocationPlan.Place>) {
        keepsAll = true
        self.leftOut = leftOut
    }

    /// Refuses an entry, or the whole document when the error names none.
    mutating func add(_ error: RelocationError) throws(RelocationError) {
        guard keepsAll else { throw error }
        if known.insert(error).inserted { errors.append(error) }
        if let index = error.index { leftOut.insert(.init(layer: error.layer ?? "", index: index)) }
    }

    /// Refuses a circle, or a chain that is too long.
    ///
    /// - Parameter places: The entries that it leads over, the refused one first; of a circle those that are in it.
    mutating func add(
        _ error: RelocationError, over places: [RelocationPlan.Place], isCircle: Bool
    ) throws(RelocationError) {
        guard let first = places.first else { return try add(error) }
        // The rest of a chain that was refused may be too long as well.
        if !followed.contains(first) { try add(error) }
        leftOut.formUnion(isCircle ? places : [first])
        followed.formUnion(places)
    }

    /// Leaves out an entry for what was refused of another.
    mutating func leaveOut(_ place: RelocationPlan.Place) { leftOut.insert(place) }

    /// What a part of an entry or of a document is; nil when it is refused, which is kept.
    mutating func attempt<Value>(
        _ body: () throws(RelocationError) -> Value
    ) throws(RelocationError) -> Value? {
        do throws(RelocationError) {
            return try body()
        } catch {
            try add(error)
            return nil
        }
    }
}
