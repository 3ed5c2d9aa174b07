import Foundation
import Glibc
import World

// Usage: WorldProgram threads|race|agent SEED [--notes]
//
// Runs one history of a world in a process of its own, and prints what came of it on a line. Status 0 when it held what it
// must, 1 when not, 64 for an unknown word.
let arguments = CommandLine.arguments
guard arguments.count >= 3, let history = HistoryKind(rawValue: arguments[1]),
    let seed = UInt64(arguments[2]),
    arguments.dropFirst(3).allSatisfy({ $0 == "--notes" })
else {
    FileHandle.standardError.write(Data("usage: WorldProgram \(HistoryKind.names) SEED [--notes]\n".utf8))
    exit(64)
}
// Sets and dictionaries have the same order in each process then.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    var words = arguments.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &words)
}
let ending = history.run(seed: seed, showsNotes: arguments.count > 3)
print(ending.text)
fflush(nil)
// The threads of the world are still there, and none may go on.
_exit(ending.isGood ? 0 : 1)
