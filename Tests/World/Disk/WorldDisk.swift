import CWorld

/// A disk for the SQLite files of one folder, which dies when it is told to; see `world_disk.h`.
///
/// `Sendable`, for who uses it has a lock around all that SQLite does, and only asks for a death between two uses.
package final class WorldDisk: @unchecked Sendable {
    private let disk: OpaquePointer

    /// - Parameter folder: without links in its path; SQLite asks for files by what the path leads to.
    package init(folder: String, seed: UInt64) { disk = world_disk_new(folder, seed) }

    deinit { world_disk_free(disk) }

    /// Dies with the operation that comes so many after this one; nil for never.
    package func die(after operations: Int?) { world_disk_die_after(disk, operations ?? -1) }

    /// Ends the machine as well when it dies with an operation.
    func crashes(_ scheduler: SeededScheduler) {
        // Not retained: a scheduler is there for as long as its process.
        world_disk_on_death(
            disk,
            { context in
                context.map { Unmanaged<SeededScheduler>.fromOpaque($0).takeUnretainedValue().crash() }
            },
            Unmanaged.passUnretained(scheduler).toOpaque())
    }

    /// Dies now.
    package func die() { world_disk_die(disk) }

    /// Is there again, for handles that are opened from now on.
    package func revive() { world_disk_revive(disk) }

    package var isDead: Bool { world_disk_is_dead(disk) != 0 }

    /// Whether syncs fail.
    package func failSyncs(_ fails: Bool) { world_disk_fail_syncs(disk, fails ? 1 : 0) }

    /// Whether syncs make nothing durable, and say nothing of that.
    package func lie(_ lies: Bool) { world_disk_lie(disk, lies ? 1 : 0) }

    /// The largest size of a file; nil for no limit.
    package func limit(_ bytes: Int?) { world_disk_limit(disk, bytes ?? -1) }

    /// How many writes, truncations, syncs and removals there have been.
    package var operations: Int { world_disk_operations(disk) }
}
