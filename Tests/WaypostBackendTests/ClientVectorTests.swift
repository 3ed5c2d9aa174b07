import Foundation
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend

/// `Tests/Clients/vectors.jsonl`: what the runtimes of generated clients write and read, here with the library's own.
@Suite struct `Vectors of clients` {
    private static let rows: [JSONValue] = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Clients/vectors.jsonl")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { try? JSONValue(parsing: String($0)) }
    }()

    @Test func `are there`() { #expect(Self.rows.count > 30) }

    @Test(arguments: rows.filter { $0["command"] != nil })
    func `a command is the library's`(_ row: JSONValue) throws {
        let wire = row["wire"] ?? .null
        guard !wire.isNull else {
            let id = row["options"]?["id"]?.stringValue ?? ""
            let lane = row["options"]?["lane"]?.stringValue ?? "main"
            let expires = row["options"]?["expires"]?.intValue ?? 60_000
            let isNamed = Name.isValid(id) && Name.isValid(lane)
            let options = SendOptions(id: id, lane: lane, trace: row["options"]?["trace"]?.stringValue)
            let isRefused = (try? Command(.ping, options, isSealed: false)) == nil
            #expect(isNamed || isRefused)
            #expect(isRefused || !(1...Command.maximumLifetime).contains(expires))
            return
        }
        let at = try #require(row["now"]?.intValue)
        let command = try Command(id: Command.id(in: wire), fields: wire, arrival: at)
        #expect(command.warnings.isEmpty)
        #expect(try JSONValue(parsing: command.encoded()) == wire)
    }

    @Test func `a trace goes along in the command`() throws {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let command = try Command(.ping, SendOptions(trace: trace), isSealed: false)
        #expect(try JSONValue(parsing: command.encoded())["trace"] == .string(trace))
        #expect(throws: BackendError.self) {
            try Command(.ping, SendOptions(trace: "01\(trace.dropFirst(2))-more"), isSealed: false)
        }
    }

    @Test(arguments: rows.filter { $0["reply"] != nil })
    func `a reply is read as the library reads it`(_ row: JSONValue) throws {
        let found = try? Reply(JSONValue(parsing: row["reply"]?.stringValue ?? ""))
        let read: JSONValue? = found.map { reply in
            [
                "id": .string(reply.id), "status": .string(reply.status.rawValue),
                "code": .int(Int64(reply.code.number)), "name": .string(reply.code.name),
                "result": reply.result,
                "detail": .init(reply.detail), "nearest": .array(reply.nearest.map { .string($0) }),
                "payload": reply.payload ?? .null, "warnings": .array(reply.warnings.map { .string($0) }),
                "attempt": .int(Int64(reply.attempt)), "dup": .bool(reply.isDuplicate),
                "ms": .int(reply.milliseconds),
                "trace": .init(reply.trace),
            ]
        }
        #expect(read ?? .null == row["reads"])
    }

    @Test(arguments: rows.filter { $0["failure"] != nil })
    func `a failure is read as the library reads it`(_ row: JSONValue) throws {
        let found = try? FailureReport(JSONValue(parsing: row["failure"]?.stringValue ?? ""))
        let read: JSONValue? = found.map { report in
            [
                "id": .string(report.id), "code": .int(Int64(report.code.number)),
                "name": .string(report.code.name),
                "where": .string(report.origin.rawValue), "detail": .string(report.detail),
                "url": .init(report.url),
                "ref": .init(report.ref), "trace": .init(report.trace),
                "nearest": .array(report.nearest.map { .string($0) }), "count": .int(report.count),
                "time": .int(report.last),
            ]
        }
        #expect(read ?? .null == row["reads"])
    }

    @Test(arguments: rows.filter { $0["event"] != nil })
    func `an event is read as the library reads it`(_ row: JSONValue) throws {
        let found = try? LogEvent(JSONValue(parsing: row["event"]?.stringValue ?? ""))
        let read: JSONValue? = found.map { event in
            [
                "time": .int(event.time), "level": .string(event.letter), "tag": .string(event.tag),
                "message": .string(event.message), "url": .init(event.url), "ref": .init(event.ref),
                "trace": .init(event.trace), "boot": .string(event.boot), "sequence": .int(event.sequence),
            ]
        }
        #expect(read ?? .null == row["reads"])
    }
}
