import Foundation
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite(.timeLimit(.minutes(10))) struct `The past` {
    private let directory = NSTemporaryDirectory() + "waypost-past-\(UUID().uuidString)"

    private func report(_ number: Int, of sender: String? = nil, detail: String = "it broke") -> FailureReport
    {
        var report = FailureReport(
            id: "r\(number)", code: .noRoute, origin: .router, ref: "c\(number)", detail: detail,
            at: Int64(number))
        report.sender = sender
        return report
    }

    private func ids(_ page: PastFailures) -> [String] { page.reports.compactMap { $0["id"]?.stringValue } }

    @Test func `failures come in pages that have a bound of number and of bytes`() throws {
        let store = try Store(directory: directory)
        try store.commit { transaction in
            for number in 1...10 { try transaction.remember(report(number)) }
        }
        func page(
            before: Int64 = .max, since: Int64 = 0, maximum: Int = 4, bytes: Int = 10_000
        ) throws -> PastFailures {
            try store.commit {
                try $0.failures(since: since, before: before, maximum: maximum, bytes: bytes)
            }
        }
        let first = try page()
        #expect(ids(first) == ["r10", "r9", "r8", "r7"])
        let second = try page(before: #require(first.next))
        #expect(ids(second) == ["r6", "r5", "r4", "r3"])
        let last = try page(before: #require(second.next))
        #expect(ids(last) == ["r2", "r1"] && last.next == nil)
        #expect(try ids(page(since: 9)) == ["r10", "r9"])
        // One is there in any case, or nobody would ever get past it.
        let narrow = try page(bytes: 1)
        #expect(ids(narrow) == ["r10"] && narrow.next != nil)
    }

    @Test func `a report that counts more takes the place of the earlier, and a damaged one is left out`()
        throws
    {
        let store = try Store(directory: directory)
        try store.commit { transaction in
            var again = report(1)
            try transaction.remember(again)
            try transaction.remember(report(2))
            again.count = 7
            again.last = 9
            try transaction.remember(again)
            try transaction.database.execute("UPDATE failures SET last = 5 WHERE id = 'r2'")
        }
        let page = try store.commit { try $0.failures(since: 0, before: .max, maximum: 100, bytes: 10_000) }
        #expect(page.reports.map { $0["count"] } == [7])
        #expect(page.damaged == 1 && page.next == nil)
    }

    @Test func `one sender holds no more than its share, all together the limit`() throws {
        let store = try Store(directory: directory)
        func keep(_ numbers: ClosedRange<Int>, of sender: String?) throws {
            try store.commit { transaction in
                for number in numbers { try transaction.remember(report(number, of: sender)) }
                try transaction.forgetFailures(of: Set([sender].compactMap(\.self)), share: 3, limit: 8)
            }
        }
        try keep(1...2, of: "good")
        try keep(10...99, of: "loud")
        try keep(100...102, of: nil)
        let page = try store.commit { try $0.failures(since: 0, before: .max, maximum: 100, bytes: 10_000) }
        #expect(ids(page) == ["r102", "r101", "r100", "r99", "r98", "r97", "r2", "r1"])
        try keep(103...104, of: nil)
        let later = try store.commit { try $0.failures(since: 0, before: .max, maximum: 100, bytes: 10_000) }
        #expect(ids(later) == ["r104", "r103", "r102", "r101", "r100", "r99", "r98", "r97"])
    }

    @Test func `an agent tells its last failures, also after a restart`() async throws {
        do {
            let harness = try await AgentHarness(directory: directory, router: Router())
            harness.receive(#"{"rev":4,"entries":[]}"#, on: "waypost/v1/k1/map")
            _ = try await harness.applied { $0["layers"]?[0]?["rev"] == 4 }
            _ = try await harness.command(#"{"id":"c1","type":"open","url":"app://nowhere?token=x"}"#)
            _ = try await harness.command(#"{"id":"c2","type":"call","service":"None","method":"m"}"#)
            try await harness.close()
        }
        let harness = try await AgentHarness(directory: directory, router: Router())
        let reply = try await harness.command(#"{"id":"c3","type":"failures","max":1}"#)
        let found = try #require(reply.result["failures"]?.arrayValue)
        #expect(found.map { $0["ref"] } == ["c2"])
        let next = try #require(reply.result["next"]?.intValue)
        let rest = try await harness.command(#"{"id":"c4","type":"failures","before":\#(next)}"#)
        let first = try #require(rest.result["failures"]?.arrayValue)
        #expect(first.map { $0["ref"] } == ["c1"] && !"\(first)".contains("token=x"))
        #expect(first.map { $0["map"] } == [["layer": "agent", "rev": 4]])
        #expect(rest.result["next"] == .null)
        try await harness.close()
    }

    @Test func `the way of a command is told to its sender, or to who names the sender`() async throws {
        let router = Router()
        try router.register("app://a") { _ in .opened() }
        let harness = try await AgentHarness(directory: directory, router: router)
        _ = try await harness.command(#"{"id":"c1","type":"open","url":"app://a"}"#)
        // The broker's answer and the commit that notes it may still be under way.
        try await harness.until("acknowledged") { harness in
            let way = try? harness.agent.store.commit { try $0.way(topic: "waypost/v1/k1/cmd/me", id: "c1") }
            return way?.state == .acknowledged
        }
        let reply = try await harness.command(#"{"id":"i1","type":"inspect","target":"c1"}"#)
        let way = try #require(reply.result["commands"]?.arrayValue?.first)
        let times = try ["received", "started", "ended", "acknowledged"].map {
            try #require(way[$0]?.intValue)
        }
        #expect(times == times.sorted() && times[0] > 0)
        #expect(way["to"] == "k1" && way["code"] == 0 && way["attempt"] == 1)
        let unknown = try await harness.command(#"{"id":"n1","type":"inspect","target":"c9"}"#)
        #expect(unknown.code == .ok && unknown.result["commands"] == [])
        let other = try await harness.command(
            #"{"id":"f1","type":"inspect","target":"c1"}"#, from: "other")
        #expect(other.result["commands"] == [])
        let named = try await harness.command(
            #"{"id":"f2","type":"inspect","target":"c1","sender":"me"}"#, from: "other")
        #expect(named.result["commands"]?.arrayValue?.count == 1)
        try await harness.close()
    }
}
