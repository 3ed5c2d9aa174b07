import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite(.timeLimit(.minutes(60))) struct `What the disk still knows` {
    private let directory = NSTemporaryDirectory() + "waypost-past-\(UUID().uuidString)"

    private func report(_ number: Int, of sender: String? = nil, detail: String = "it broke") -> FailureReport
    {
        var report = FailureReport(
            id: "r\(number)", code: .noRoute, origin: .router, ref: "c\(number)", detail: detail,
            at: Int64(number))
        report.sender = sender
        return report
    }

    private func ids(_ page: FailurePage) -> [String] { page.reports.compactMap { $0["id"]?.stringValue } }

    @Test func `failures come in pages that have a bound of number and of bytes`() throws {
        let store = try Store(directory: directory)
        try store.commit { transaction in
            for number in 1...10 { try transaction.remember(report(number)) }
        }
        func page(
            before: Int64 = .max, since: Int64 = 0, maximum: Int = 4, bytes: Int = 10_000
        ) throws -> FailurePage {
            try store.commit {
                try $0.failures(
                    FailureRequest(since: since, before: before, maximum: maximum), bytes: bytes)
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
        let page = try store.commit { try $0.failures(FailureRequest(), bytes: 10_000) }
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
        let page = try store.commit { try $0.failures(FailureRequest(), bytes: 10_000) }
        #expect(ids(page) == ["r102", "r101", "r100", "r99", "r98", "r97", "r2", "r1"])
        try keep(103...104, of: nil)
        let later = try store.commit { try $0.failures(FailureRequest(), bytes: 10_000) }
        #expect(ids(later) == ["r104", "r103", "r102", "r101", "r100", "r99", "r98", "r97"])
    }

    @Test func `an agent has its last failures, also after a restart`() async throws {
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

    @Test func `how a command went is shown to its sender, and to one who names the sender`() async throws {
        let router = Router()
        try router.register("app://a") { _ in .opened() }
        let harness = try await AgentHarness(directory: directory, router: router)
        _ = try await harness.command(#"{"id":"c1","type":"open","url":"app://a"}"#)
        // The broker's answer and the commit that notes it may still be under way.
        try await harness.until("acknowledged") { harness in
            let timeline = try? harness.agent.store.commit {
                try $0.timeline(topic: "waypost/v1/k1/cmd/me", id: "c1")
            }
            return timeline?.state == .acknowledged
        }
        let reply = try await harness.command(#"{"id":"i1","type":"inspect","target":"c1"}"#)
        let timeline = try #require(reply.result["commands"]?.arrayValue?.first)
        let times = try ["received", "started", "ended", "acknowledged"].map {
            try #require(timeline[$0]?.intValue)
        }
        #expect(times == times.sorted() && times[0] > 0)
        #expect(timeline["to"] == "k1" && timeline["code"] == 0 && timeline["attempt"] == 1)
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

    @Test func `only the failures for which the query holds are on a page`() async throws {
        let router = Router()
        try router.register("app://home") { _ in .opened() }
        let harness = try await AgentHarness(directory: directory, router: router)
        for number in 1...3 {
            _ = try await harness.command(
                #"{"id":"n\#(number)","type":"open","url":"app://orders/\#(number)"}"#)
            _ = try await harness.command(
                #"{"id":"s\#(number)","type":"call","service":"None","method":"m"}"#)
        }
        func refs(_ query: String) async throws -> [String] {
            let reply = try await harness.command(
                #"{"id":"q\#(Identifier.short())","type":"failures","max":2,"query":"\#(query)"}"#)
            #expect(reply.code == .ok, "\(reply)")
            return reply.result["failures"]?.arrayValue?.compactMap { $0["ref"]?.stringValue } ?? []
        }
        #expect(try await refs("code=:404 url:orders") == ["n3", "n2"])
        #expect(try await refs("code=:NO_SERVICE") == ["s3", "s2"])
        #expect(try await refs("ref=:n1") == ["n1"])
        #expect(try await refs("agent:other") == [])
        let reply = try await harness.command(#"{"id":"q","type":"failures","query":"url~:a+"}"#)
        #expect(reply.code == .badField && reply.detail?.contains("regular expressions") == true)
        try await harness.close()
    }

    @Test func `a command that runs, waits or is held says since when`() async throws {
        let router = Router()
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        let runs = TestSupport.EventLog<String>()
        let gate = OpenGate("login")
        try router.register("app://slow", idempotent: true) { request in
            runs.append(request.context.ref ?? "")
            for await _ in goAhead { break }
            return .opened()
        }
        try router.register("app://orders") { _ in .opened() }
        try router.intercept("guard", scope: .patterns(["app://orders"])) { _ in
            .wait(for: gate, atMost: .seconds(86_400))
        }
        let harness = try await AgentHarness(directory: directory, router: router)
        func send(_ id: String, _ url: String) {
            harness.receive(
                #"{"id":"\#(id)","type":"open","url":"\#(url)","ttl":90000}"#, on: "waypost/v1/k1/cmd/me")
        }
        func inspect(_ id: String) async throws -> JSONValue {
            let reply = try await harness.command(
                #"{"id":"i\#(Identifier.short())","type":"inspect","target":"\#(id)"}"#)
            return try #require(reply.result["commands"]?[0])
        }
        let start = harness.clock.now
        send("held", "app://orders")
        try await harness.until("held") { $0.agent.health.json["waiting"]?["gates"]?[0] != nil }
        harness.clock.advance(1_000)
        send("runs", "app://slow")
        _ = try await runs.wait(for: "the handler") { !$0.isEmpty }
        send("next", "app://slow")
        send("last", "app://slow")
        harness.clock.advance(4_000)
        let pending = try await harness.command(#"{"id":"p1","type":"inspect"}"#).result
        let ids = (pending["commands"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
        #expect(ids == ["held", "runs", "next", "last"] && pending["more"] == 0, "\(pending)")
        let others = try await harness.command(#"{"id":"p2","type":"inspect"}"#, from: "other").result
        #expect(others["commands"]?.arrayValue?.isEmpty == true)
        let running = try await inspect("runs")
        #expect(running["running"] == .int(start + 1_000) && running["held"] == .null, "\(running)")
        #expect(running["attempt"] == 1 && running["ahead"] == .null)
        let held = try await inspect("held")
        #expect(held["held"] == .int(start) && held["state"] == "held", "\(held)")
        #expect(try await inspect("next")["ahead"] == 1)
        let last = try await inspect("last")
        #expect(last["ahead"] == 2 && last["running"] == .null, "\(last)")
        signal.finish()
        #expect(try await harness.reply(to: "last").code == .ok)
        let ended = try await inspect("last")
        #expect(ended["running"] == .null && ended["ahead"] == .null && ended["code"] == 0, "\(ended)")
        try await harness.close()
    }
}
