import FoundationEssentials
import Waypost
import WaypostBackend

// A process that must not lose a command: what is in its folder is sent until there is a reply, also after a restart.
//
// Usage: SenderProbe BROKER FOLDER [COUNT]; with COUNT it seals so many commands first.
let arguments = CommandLine.arguments
let folder = URL(filePath: arguments[2])
try await Backend.with(BackendConfiguration(broker: arguments[1], name: "shop")) { backend in
    for number in 0..<(arguments.count > 3 ? Int(arguments[3]) ?? 0 : 0) {
        let options = SendOptions(id: "order-\(number)", lifetime: .seconds(600))
        let command = try backend.agent("k1").seal(
            .call("LedgerService", "append", [.string("order \(number)")]), options)
        try JSONEncoder().encode(command).write(to: folder.appending(path: command.id), options: .atomic)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let file = folder.appending(path: name)
            let command = try JSONDecoder().decode(SealedCommand.self, from: Data(contentsOf: file))
            let pending = backend.send(command)
            group.addTask {
                let reply = try await pending.reply()
                print("\(command.id) \(reply.code.name)\(reply.isRepeated ? " again" : "")")
                try FileManager.default.removeItem(at: file)
            }
        }
        try await group.waitForAll()
    }
}
