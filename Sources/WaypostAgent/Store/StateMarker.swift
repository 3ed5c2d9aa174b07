import WaypostMessages

/// What shows that a state file belongs to its directory and is not older than what was stored in it.
///
/// It stands in a row of the state file, its number of commits in rows of the inbox too (``CommitNumber``), and in
/// ``MarkerFile`` beside it, which is written after each commit. So the file beside it never counts more than the state
/// file does, unless something of the state file is lost: the whole of it, its end, or its write-ahead log.
struct StateMarker: Sendable, Equatable {
    /// How many bytes ``identity`` has.
    static let identityBytes = 16
    /// Two hundred years at six hundred commits a second; it leaves a stamp its bits for the digest.
    private static let highestCommit: Int64 = 1 << 42
    private static let stampBits: Int64 = 20
    private static let heading = Array("WAYPOST1".utf8)
    /// How many bytes ``bytes`` has.
    static let size = heading.count + identityBytes + 3 * 8

    /// Drawn when the state file is made, so that no two have the same.
    var identity: [UInt8]
    /// How many commits there were.
    var commits: Int64
    /// The highest epoch that was taken.
    var epoch: Int64

    /// Whether these are numbers that there can be: with others one could not count on.
    var isPossible: Bool {
        identity.count == Self.identityBytes && (0...Self.highestCommit).contains(commits)
            && (0...(1 << 53)).contains(epoch)
    }

    /// Over what stands in the row.
    var rowDigest: Int64 { RowDigest.of([.blob(identity), .integer(commits)]) }

    /// The number of commits as it stands in rows of the inbox.
    ///
    /// Its last bits are of a digest, so that a byte that the disk changed makes no other number.
    var stamp: Int64 { commits << Self.stampBits | rowDigest & (1 << Self.stampBits - 1) }

    /// Counts as many commits as a stamp does, if it is one of this state file and they are more.
    mutating func count(stamp: Int64) {
        let other = StateMarker(identity: identity, commits: stamp >> Self.stampBits, epoch: epoch)
        guard other.commits > commits, other.isPossible, other.stamp == stamp else { return }
        commits = other.commits
    }

    private var digest: Int64 { RowDigest.of([.blob(identity), .integer(commits), .integer(epoch)]) }

    /// The whole file, with a digest at its end.
    var bytes: [UInt8] {
        var bytes = Self.heading + identity
        for number in [commits, epoch, digest] {
            withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
        }
        return bytes
    }
}

extension StateMarker {
    /// Nil when these are not the bytes of one.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.size, bytes.starts(with: Self.heading) else { return nil }
        func number(_ index: Int) -> Int64 {
            let start = Self.heading.count + Self.identityBytes + index * 8
            return bytes[start..<start + 8].reversed().reduce(0) { $0 << 8 | Int64($1) }
        }
        identity = Array(bytes[Self.heading.count...].prefix(Self.identityBytes))
        (commits, epoch) = (number(0), number(1))
        guard digest == number(2), isPossible else { return nil }
    }
}
