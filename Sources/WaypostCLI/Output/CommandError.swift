import WaypostBackend
import WaypostMessages

/// How a command ends, for scripts to act on.
enum Exit: Int32, Error {
    case ok = 0
    /// Rejected, failed, expired, interrupted or canceled.
    case failed = 1
    /// No reply in time.
    case noReply = 3
    /// No broker accepts the connection.
    case noBroker = 4
    /// Wrong usage; the number is sysexits' EX_USAGE.
    case usage = 64
    /// The agent's state can't be gone on with, and only a person can mend it; the number is sysexits' EX_DATAERR.
    case data = 65
    /// Ended by Ctrl-C: 128 and the number of SIGINT.
    case interrupted = 130
    /// Ended by SIGTERM.
    case terminated = 143
}

extension BackendError {
    var exit: Exit {
        switch kind {
        case .invalid: .usage
        case .notSent, .denied, .refused, .unreadable: .failed
        case .noReply, .unknownReceiver: .noReply
        case .noBroker: .noBroker
        }
    }
}

/// Why a command fails: one line for people, and the exit status.
struct CommandError: Error, CustomStringConvertible {
    var exit: Exit
    /// What was being done, to what, what was found, what to do.
    var description: String

    init(_ exit: Exit, _ description: String) {
        self.exit = exit
        self.description = description
    }

    /// An error of this program or of the library; nil for any other.
    init?(_ error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as BackendError:
            // Profiles may have other names; these are those of the guide.
            let option = error.needsAsker ? "--ask-as" : "--profile"
            let advice = error.role.map { "; with its profile: \(option) \($0.rawValue)" } ?? ""
            self.init(error.exit, error.wording.shell + advice)
        default: return nil
        }
    }
}
