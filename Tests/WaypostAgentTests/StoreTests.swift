import Foundation
import Testing
import WaypostMessages

@testable import WaypostAgent

@Suite struct `The state file` {
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("waypost-\(UUID())")
        .path

    private func receive(_ store: Store, id: String) throws -> Int64? {
        try store.commit {
            try $0.receive(
                NewCommand(
                    topic: "t", id: id, digest: SHA256.digest(of: [1]), payload: [1], received: 10,
                    expires: 20, keepUntil: 30))
        }
    }

    // The highest number that there is: the next one would be none.
    @Test func `a row number that only the disk can have made is not counted on from`() throws {
        let store = try Store(directory: directory)
        _ = try receive(store, id: "a")
        _ = try receive(store, id: "b")
        try store.commit { transaction in
            try transaction.database.execute("UPDATE inbox SET seq = \(Int64.max) WHERE seq = 2")
            #expect(try transaction.lastSequence() == 1)
            try transaction.database.execute("UPDATE inbox SET seq = -3 WHERE seq = 1")
            #expect(try transaction.lastSequence() == 0)
        }
    }

    @Test func `a command is known by its topic and id, with its reply once that is stored`() throws {
        let store = try Store(directory: directory)
        #expect(try receive(store, id: "a") == 1)
        #expect(try receive(store, id: "b") == 2)
        #expect(try receive(store, id: "a") == nil)
        func known(_ topic: String, _ id: String) throws -> KnownCommand? {
            try store.commit { try $0.known(topic, id) }
        }
        #expect(try known("u", "a") == nil)
        #expect(try known("t", "c") == nil)
        #expect(try known("t", "b")?.sequence == 2)
        #expect(try known("t", "a")?.reply == nil)
        try store.commit { try $0.finish(InboxResult(sequence: 1, attempt: 1, reply: [7])) }
        #expect(try known("t", "a")?.reply == [7])
    }

    @Test func `what was stored is there after the file was closed and opened again`() throws {
        do {
            let store = try Store(directory: directory)
            _ = try receive(store, id: "a")
            _ = try receive(store, id: "b")
            _ = try receive(store, id: "c")
            try store.commit {
                try $0.step(1, .started(attempt: 1), at: 1)
                try $0.finish(InboxResult(sequence: 2, attempt: 1, reply: [7]))
                try $0.acknowledge([2], at: 2)
                _ = try $0.append(topic: "f", payload: [5])
            }
        }
        let store = try Store(directory: directory)
        let unfinished = try store.commit { try $0.unfinished() }
        #expect(unfinished.map(\.id) == ["a", "c"])
        #expect(unfinished.map(\.state) == [.started, .received])
        #expect(unfinished.map(\.payload) == [[1], [1]])
        #expect(try store.commit { try $0.outbox().records }.map(\.payload) == [[5]])
    }

    @Test func `a finished command is never started or finished again`() throws {
        let store = try Store(directory: directory)
        _ = try receive(store, id: "a")
        try store.commit {
            try $0.finish(InboxResult(sequence: 1, attempt: 1, reply: [7]))
            try $0.finish(InboxResult(sequence: 1, attempt: 2, reply: [8]))
            try $0.step(1, .started(attempt: 3), at: 1)
        }
        #expect(try store.commit { try $0.known("t", "a") }?.reply == [7])
    }

    @Test func `only the replies that the broker has are acknowledged, in whatever order they are named`()
        throws
    {
        let store = try Store(directory: directory)
        for id in ["a", "b", "c", "d", "e", "f"] { _ = try receive(store, id: id) }
        let unsent = try store.commit { transaction in
            // The second has no result, and the broker does not have the fourth.
            for sequence in [1, 3, 4, 5, 6] as [Int64] {
                try transaction.finish(InboxResult(sequence: sequence, attempt: 1, reply: [7]))
            }
            try transaction.acknowledge([.max, 6, 1, 3, 5, 3, 2, .min], at: 2)
            return try transaction.unsentReplies(excluding: [], bytes: .max).records.map(\.sequence)
        }
        #expect(unsent == [4])
        #expect(try store.commit { try $0.unfinished().map(\.sequence) } == [2])
    }

    @Test func `only commands that have ended and are past their time are forgotten`() throws {
        let store = try Store(directory: directory)
        for id in ["a", "b", "c"] { _ = try receive(store, id: id) }
        try store.commit {
            try $0.finish(InboxResult(sequence: 1, attempt: 1, reply: []))
            try $0.acknowledge([1], at: 2)
            try $0.finish(InboxResult(sequence: 2, attempt: 1, reply: []))
        }
        #expect(try store.commit { try $0.forgetEnded(after: 0, at: 30, limit: 10).removed } == [])
        #expect(
            try store.commit { try $0.forgetEnded(after: 0, at: 31, limit: 10).removed.map(\.rows) } == [1])
        #expect(try store.commit { try $0.inboxUse().map(\.rows) } == [2])
    }

    @Test func `a second agent is kept from the directory`() throws {
        let store = try Store(directory: directory)
        let error = #expect(throws: StoreError.self) { try Store(directory: directory) }
        #expect(error?.reason == .locked)
        withExtendedLifetime(store) {}
    }

    @Test func `a newer schema is refused and not touched`() throws {
        do {
            let store = try Store(directory: directory)
            try store.commit { try $0.database.execute("PRAGMA user_version = 99") }
        }
        let error = #expect(throws: StoreError.self) { try Store(directory: directory) }
        #expect(error?.reason == .newerSchema(found: 99, supported: Schema.version))
    }

    @Test func `a file that is no database is named, and left as it is`() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let path = "\(directory)/\(Store.fileName)"
        let garbage = Data(repeating: 0x55, count: 8192)
        try garbage.write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: StoreError.self) { try Store(directory: directory) }
        #expect(error?.reason == .corrupt)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == garbage)
    }
}
