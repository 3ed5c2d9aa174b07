import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI

/// The language of `--query`, times and forms of lines, without a broker.
@Suite struct LogQueryTests {
    /// `Vectors/query.jsonl`: the first row has the lines; each other a `query`, and the numbers of the lines that it
    /// `shows`, or the `fault` that is named.
    static let rows: [JSONValue] = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Vectors/query.jsonl")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { try? JSONValue(parsing: String($0)) }
    }()

    private static let now: Int64 = 1_795_217_000_000

    private static func line(_ row: JSONValue) throws -> AgentEvent {
        let event = LogEvent(
            time: now - (row["age"]?.intValue ?? 0) * 1_000,
            level: try #require(LogLevel(letter: row["level"]?.stringValue ?? "")),
            tag: row["tag"]?.stringValue ?? "", boot: "B", sequence: 1, process: 71, thread: 72,
            message: row["message"]?.stringValue ?? "", url: row["url"]?.stringValue,
            ref: row["ref"]?.stringValue, trace: row["trace"]?.stringValue)
        var line = AgentEvent(agent: row["agent"]?.stringValue ?? "", event: event, source: [])
        if let code = row["code"]?.arrayValue {
            line.code = Code(
                number: Int(clamping: code.first?.intValue ?? 0), name: code.last?.stringValue ?? "")
            line.isReport = true
        }
        return line
    }

    @Test func `the vectors are there`() { #expect(Self.rows.count > 30) }

    @Test(arguments: LogQueryTests.rows.dropFirst())
    func `a query shows what its row says`(_ row: JSONValue) throws {
        let text = try #require(row["query"]?.stringValue)
        if let fault = row["fault"]?.stringValue {
            let error = try #require(throws: BackendError.self) { try LogQuery.read(text) }
            #expect(error.description.contains(fault), "\(error)")
            #expect(error.exit == .usage)
            return
        }
        let query = try LogQuery(text)
        let lines = try (Self.rows.first?["lines"]?.arrayValue ?? []).map(Self.line)
        let shown = lines.indices.filter { query.holds(for: lines[$0], now: Self.now) }
        #expect(shown.map { JSONValue.int(Int64($0)) } == row["shows"]?.arrayValue)
    }

    @Test func `a text of flags and marks takes no time`() throws {
        let query = try LogQuery("message:nothing message~:'took [0-9]+' -url:x")
        for unit in ["\u{1F1E6}", "e\u{301}", "ab"] {
            let line = AgentEvent(
                agent: "k1",
                event: LogEvent(
                    time: 0, level: .info, tag: "T", boot: "", sequence: 0, process: 0, thread: 0,
                    message: String(repeating: unit, count: 65_536 / unit.utf8.count)), source: [])
            let time = processorTime { for _ in 0..<20 { #expect(!query.holds(for: line, now: 0)) } }
            // Looked at by characters, one of them takes seconds.
            #expect(time < .seconds(20))
        }
    }

    @Test func `a tag is found in any case, and -s shows only what is named`() throws {
        func shown(_ filter: LogFilter) throws -> [String] {
            try (Self.rows.first?["lines"]?.arrayValue ?? []).map(Self.line).filter { filter.shows($0) }
                .map(\.event.tag)
        }
        #expect(try shown(LogFilter(["ROUTER:I", "*:S"])) == ["Router"])
        #expect(try shown(LogFilter(tag: "service")) == ["Service"])
        #expect(try shown(LogFilter(["Fail"], isSilent: true)) == ["Fail"])
        #expect(try shown(LogFilter(process: 70)).isEmpty)
    }

    @Test func `a time is the last one that it can mean`() throws {
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday, parts.tm_hour) = (126, 10, 22, 12)
        parts.tm_isdst = -1
        let noon = Int64(mktime(&parts)) * 1_000
        let hour: Int64 = 3_600_000
        func time(_ text: String) -> LogStart? { try? LogStart(text, now: noon) }
        #expect(time("10m") == .ago(.seconds(600)))
        #expect(time("90") == .ago(.seconds(90)))
        #expect(time("11:00") == .time(noon - hour))
        #expect(time("11:59:59.5") == .time(noon - 500))
        #expect(time("13:00") == .time(noon - 23 * hour))
        #expect(time("11-22 10:00:00.000") == .time(noon - 2 * hour))
        #expect(time("2026-11-21 12:00") == .time(noon - 24 * hour))
        #expect(time("2026-11-22T11:00:00") == .time(noon - hour))
        #expect(try WrittenTime("12-24 12:00").moment(now: noon) < noon)
        for bad in [
            "", "25:00", "12:61", "noon", "11-22", "13-01 10:00", "1:2:3:4", "12:00.x", "12:00 x", "-1:00",
        ] {
            #expect(time(bad) == nil, "\(bad)")
        }
    }

    @Test func `the words behind -v are those of adb`() throws {
        let line = try Self.line(Self.rows.first?["lines"]?[0] ?? .null)
        let plain = Style(isOn: false)
        func text(_ words: String...) throws -> String {
            line.text(try LogFormat(words), plain, agentWidth: nil).text
        }
        #expect(try text("brief") == "I/Router  (   71): opened myapp://orders/42")
        #expect(try text("uid", "brief").hasPrefix("kiosk-7 I/Router"))
        #expect(try text("UTC,year").hasPrefix("2026-11-20 23:23:15.000 +0000    71 "))
        #expect(try text("color").contains("\u{1B}[") == (line.event.level != .info))
        #expect(throws: CommandError.self) { try LogFormat(["long"]) }
    }
}
