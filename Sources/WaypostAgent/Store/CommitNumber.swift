/// The number of a commit, and where it is stored with it.
///
/// A page that a commit writes costs time, and the marker's row has a page of its own. So a commit that changes rows of
/// the inbox has its number in these, and it is in the marker's row when the commit
/// - changes no row of the inbox, or removes some, which may be those with the highest number,
/// - begins the log, so that a log of another state file brings that one's identity along,
/// - is the last one before the log is written back, so that an older log beside the file takes its number away.
final class CommitNumber {
    /// The marker with this commit.
    let marker: StateMarker
    /// What the rows of the inbox get; NULL when the number stands in the marker's row in any case.
    private(set) lazy var stamp: SQLValue = isMarkerDue ? .null : .integer(marker.stamp)
    private var isMarkerDue: Bool
    private var isInRows = false

    init(after last: StateMarker, isInMarker: Bool) {
        var marker = last
        marker.commits += 1
        self.marker = marker
        isMarkerDue = isInMarker
    }

    /// Whether it must stand in the marker's row.
    var isInMarker: Bool { isMarkerDue || !isInRows }

    /// Rows of the inbox got the stamp.
    func stampedRows() { isInRows = true }

    /// Rows of the inbox were removed.
    func removedRows() { isMarkerDue = true }
}
