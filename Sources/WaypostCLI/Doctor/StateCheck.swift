import Glibc
import WaypostAgent
import WaypostMessages

/// Looks at an agent's state directory on this machine, without changing it.
struct StateCheck {
    /// An agent's state may grow to some hundred MiB.
    private static let plenty: UInt64 = 512 << 20
    private static let little: UInt64 = 32 << 20

    let directory: String

    var findings: [DoctorFinding] {
        var status = stat()
        guard stat(directory, &status) == 0 else {
            return [
                DoctorFinding(
                    "state", .warning, "\(directory): \(String(cString: strerror(errno)))",
                    advice: "an agent creates it when it first starts; is it the right directory (--state)?"
                )
            ]
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return [
                DoctorFinding(
                    "state", .failed, "\(directory) is not a directory", advice: "choose another with --state"
                )
            ]
        }
        return [place(status), disk, file]
    }

    private func place(_ status: stat) -> DoctorFinding {
        let mode = String(status.st_mode & 0o777, radix: 8)
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            return DoctorFinding(
                "state", .failed, "\(directory) can be written by others (mode \(mode))",
                advice: "chmod go-w \(directory)")
        }
        guard access(directory, W_OK | X_OK) == 0 else {
            return DoctorFinding(
                "state", .failed, "\(directory): \(String(cString: strerror(errno)))",
                advice: "run this as the agent's user, or give the directory to that user with chown")
        }
        let user = StateInspection.isInUse(directory: directory) ? "in use by an agent" : "not in use"
        return DoctorFinding("state", .ok, "\(directory) has the right owner and mode, \(user)")
    }

    private var disk: DoctorFinding {
        var system = statvfs()
        guard statvfs(directory, &system) == 0 else {
            return DoctorFinding("disk", .skipped, "\(directory): \(String(cString: strerror(errno)))")
        }
        let (free, overflow) = UInt64(system.f_bavail).multipliedReportingOverflow(
            by: UInt64(system.f_frsize))
        let space = overflow ? UInt64.max : free
        let text = "\(space >> 20) MiB free"
        guard space < Self.plenty else { return DoctorFinding("disk", .ok, text) }
        return DoctorFinding(
            "disk", space < Self.little ? .failed : .warning, text,
            advice: "free some space: an agent that can't store a command does not accept it")
    }

    private var file: DoctorFinding {
        guard !StateInspection.isInUse(directory: directory) else {
            return DoctorFinding(
                "store", .ok, "in use by the running agent; its health shows more (waypost health)")
        }
        let state: StateInspection
        do throws(StoreError) {
            state = try StateInspection(directory: directory)
        } catch {
            // The sentence of a start, which says what to do.
            return DoctorFinding("store", .failed, error.wording.shell)
        }
        if let gap = state.gap {
            return DoctorFinding(
                "store", .warning, gap, advice: "the next start continues with it, and reports this on fail")
        }
        if let found = state.damagedIndex {
            return DoctorFinding(
                "store", .warning, "an index is damaged: \(found)",
                advice: "the next start rebuilds it from the rows, and reports this on fail")
        }
        guard state.schema > 0 else {
            return DoctorFinding("store", .skipped, "no agent has run here yet")
        }
        return DoctorFinding(
            "store", .ok,
            "schema \(state.schema), \(state.unfinished) unfinished commands, \(state.reports) reports waiting"
        )
    }
}
