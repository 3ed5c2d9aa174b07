import Foundation
import Glibc
import World

// Usage: WorldProgram threads|race|agent|crashes|weak SEED [--notes]
//
// Runs one history of a world in a process of its own, and prints what came of it on a line. Status 0 when it held what it
// must, 1 when not, 64 for an unknown word. After a crash of the world's machine it goes on as another program of the same
// process: `--in FOLDER`.
var words = CommandLine.arguments
let folder = words.firstIndex(of: "--in").flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
if folder != nil { words.removeLast(2) }
guard words.count >= 3, let kind = HistoryKind(rawValue: words[1]), let seed = UInt64(words[2]),
    words.dropFirst(3).allSatisfy({ $0 == "--notes" })
else {
    FileHandle.standardError.write(Data("usage: WorldProgram \(HistoryKind.names) SEED [--notes]\n".utf8))
    exit(64)
}

func goOn(_ words: [String]) -> Never {
    fflush(nil)
    var pointers = words.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &pointers)
    fatalError("execv: errno \(errno)")
}

// Sets and dictionaries have the same order in each process then.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    goOn(words)
}
switch kind.run(seed: seed, in: folder, showsNotes: words.count > 3) {
case .goesOn(let folder): goOn(words + ["--in", folder])
case .over(let text, let isGood):
    print(text)
    fflush(nil)
    // The threads of the world are still there, and none may go on.
    _exit(isGood ? 0 : 1)
}
