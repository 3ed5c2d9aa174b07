import CommandSupport
import Foundation
import Glibc
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostCLI

/// A stalled journal, Ctrl-S at a terminal, a pipe that is full: nobody reads what the agent has to say.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct `Standard error that nobody reads` {
    @Test func `keeps an agent neither from its start, nor from answering, nor from its stop`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let errors = try FullPipe()
        let agent = try start(broker, errors)
        _ = try await backend.message(on: "waypost/v1/k1/state") { $0["state"] == "online" }
        #expect(try await backend.command(#"{"id":"c1","type":"ping"}"#, to: "k1").code == .ok)
        // Its lines about the connection come from the link's thread.
        try await broker.kill()
        try await broker.start()
        let again = try await Backend(broker: broker.url)
        _ = try await again.message(on: "waypost/v1/k1/state") { $0["state"] == "online" }
        #expect(try await again.command(#"{"id":"c2","type":"ping"}"#, to: "k1").code == .ok)
        agent.send(signal: SIGTERM)
        #expect(try await agent.status() == 0)
        let state = try await again.message(on: "waypost/v1/k1/state") { $0["state"] == "offline" }
        #expect(state["why"] == "shutdown")
        await again.disconnect()
        await backend.disconnect()
    }

    @Test func `gets all lines, in their order, once it is read`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let errors = try FullPipe()
        let agent = try start(broker, errors)
        _ = try await backend.message(on: "waypost/v1/k1/state") { $0["state"] == "online" }
        let lines = errors.read()
        try await lines.wait(for: "the line about the connection") {
            $0.contains { $0.contains("online at") }
        }
        agent.send(signal: SIGTERM)
        #expect(try await agent.status() == 0)
        try await lines.wait(for: "the last line") { $0.last?.hasSuffix("agent k1 stopped") == true }
        let said = lines.events.filter { !$0.hasPrefix("xxx") }
        #expect(said.first?.contains("WAYPOST_BROKR is not a setting; did you mean") == true, "\(said)")
        #expect(!said.contains { $0.contains("dropped") })
        await backend.disconnect()
    }

    @Test func `makes nobody wait, and how many lines are missing is said once it is read`() async throws {
        let errors = try FullPipe()
        let queue = LineQueue(
            thread: "test", write: { errors.write($0) }, loss: { Array("missing: \($0)\n".utf8) })
        let count = 20_000
        for number in 0..<count { queue.append(Array("line \(number) of many that are much alike\n".utf8)) }
        queue.flush(within: .milliseconds(10))
        let lines = errors.read()
        try await offThePool { queue.flush(within: .seconds(100)) }
        queue.append(Array("last\n".utf8))
        try await lines.wait(for: "a line behind them") { $0.last == "last" }
        // Wherever lines are missing, the number of them stands.
        let end = lines.events.reduce(0 as Int?) { next, line in
            let words = line.split(separator: " ")
            guard let next, words.count > 1, let number = Int(words[1]) else { return next }
            return words[0] == "missing:" ? next + number : number == next ? next + 1 : nil
        }
        #expect(end == count)
        #expect(lines.events.count * 100 < 4 * LineQueue.maximumBytes)
    }

    @Test func `is counted too when it takes nothing`() async throws {
        let (full, errors) = (open("/dev/full", O_WRONLY | O_CLOEXEC), try FullPipe())
        defer { close(full) }
        let isFull = Guarded(true)
        let queue = LineQueue(
            thread: "test",
            write: { line in
                isFull.withLock(\.self) ? Glibc.write(full, line, line.count) > 0 : errors.write(line)
            }, loss: { Array("missing: \($0)\n".utf8) })
        for _ in 0..<3 {
            queue.append(Array("lost\n".utf8))
            try await offThePool { queue.flush(within: .seconds(100)) }
        }
        isFull.withLock { $0 = false }
        queue.append(Array("kept\n".utf8))
        let lines = errors.read()
        try await lines.wait(for: "what is missing") { $0.suffix(2) == ["kept", "missing: 3"] }
    }

    @Test func `is no reason to lose the errors of a command that ends at once`() async throws {
        for arguments in [
            ["agent", "--agent", "k/1"], ["agent", "--no-such-option"], ["agents", "--wait", "x"],
        ] {
            let ending = try await RunningCommand.run(arguments, environment: ["WAYPOST_BROKR": "x"])
            #expect(ending.status == 64)
            #expect(ending.errorLines.contains { $0.hasPrefix("waypost: error:") }, "\(ending.errorLines)")
            #expect(ending.errorLines.first?.contains("WAYPOST_BROKR is not a setting") == true)
        }
    }

    private func start(_ broker: TestBroker, _ errors: FullPipe) throws -> CommandProcess {
        try CommandProcess(
            [
                "agent", "--demo", "--agent", "k1", "--broker", broker.url, "--state",
                broker.directory + "/state",
            ],
            environment: ["WAYPOST_BROKR": "x"], standardError: errors.writing)
    }
}

/// A pipe that is full until it is read.
private final class FullPipe: Sendable {
    private let pipe = Pipe.forOneChild()

    struct Failure: Error { var code: Int32 }

    init() throws {
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
        // A page at a time is written whole or not at all.
        let page = Array((String(repeating: "x", count: 4_095) + "\n").utf8)
        while Glibc.write(descriptor, page, page.count) > 0 {}
        guard errno == EAGAIN, fcntl(descriptor, F_SETFL, flags) == 0 else { throw Failure(code: errno) }
    }

    var writing: FileHandle { pipe.fileHandleForWriting }

    /// Writes for as long as it takes.
    func write(_ bytes: [UInt8]) -> Bool {
        (try? pipe.fileHandleForWriting.write(contentsOf: bytes)) != nil
    }

    /// Begins to read; the lines as they come.
    func read() -> EventLog<String> {
        let lines = EventLog<String>()
        lines.follow(pipe.fileHandleForReading, \.self)
        return lines
    }
}
