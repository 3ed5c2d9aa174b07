import Glibc
import Threading

/// The small file beside the state file that keeps a copy of its marker.
///
/// Overwritten in place with one write, which a killed process has made or has not made. It is flushed when the state
/// file is opened, when the epoch rises and at the end; in between, a loss of power may leave an older one, which finds
/// less and never something that is not so.
final class MarkerFile: Sendable {
    /// Its name in the state directory.
    static let name = "waypost.marker"

    /// What lies in the file's place.
    enum Content: Sendable, Equatable {
        case missing
        /// The disk has changed it, or it was cut.
        case damaged
        case intact(StateMarker)
    }

    private let descriptor: Int32
    private let held: Guarded<StateMarker>

    /// Creates or overwrites the file; it is durable, with its name, when this returns.
    init(directory: String, _ marker: StateMarker) throws(StoreError) {
        let path = "\(directory)/\(Self.name)"
        descriptor = try StateFile.openFile(path, O_RDWR | O_CREAT, "open the marker of the state file")
        held = Guarded(marker)
        guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, off_t(StateMarker.size)) == 0,
            Self.write(marker, to: descriptor), fsync(descriptor) == 0
        else { throw .system("write the marker of the state file", path) }
        try StateFile.flush(directory: directory)
    }

    deinit { close(descriptor) }

    /// What lies in the directory.
    static func read(directory: String) throws(StoreError) -> Content {
        let path = "\(directory)/\(name)"
        guard try StateFile.size(of: path) != nil else { return .missing }
        let descriptor = try StateFile.openFile(path, O_RDONLY, "open the marker of the state file")
        defer { close(descriptor) }
        // A byte more, so that a longer file is none.
        var bytes = [UInt8](repeating: 0, count: StateMarker.size + 1)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { throw .system("read the marker of the state file", path) }
        return StateMarker(bytes: Array(bytes.prefix(count))).map(Content.intact) ?? .damaged
    }

    /// The newest marker.
    var marker: StateMarker { held.withLock { $0 } }

    /// Writes what is in the state file by now.
    ///
    /// A write that fails leaves an older marker, which is true as well.
    func stored(commits: Int64) {
        held.withLock { marker in
            marker.commits = commits
            _ = Self.write(marker, to: descriptor)
        }
    }

    /// Makes a higher epoch durable, so that the next one is above it also without the state file.
    func stored(epoch: Int64) {
        held.withLock { marker in
            marker.epoch = max(marker.epoch, epoch)
            _ = Self.write(marker, to: descriptor)
        }
        flush()
    }

    /// Makes it durable as it is.
    func flush() { _ = fdatasync(descriptor) }

    private static func write(_ marker: StateMarker, to descriptor: Int32) -> Bool {
        let bytes = marker.bytes
        return pwrite(descriptor, bytes, bytes.count, 0) == bytes.count
    }
}
