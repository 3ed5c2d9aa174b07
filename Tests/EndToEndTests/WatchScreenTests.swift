import CommandSupport
import Foundation
import TestSupport
import Testing

@testable import WaypostCLI

/// `waypost watch` at a terminal.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct WatchScreenTests {
    /// Says the terminal's settings and the process id, watches, and says how it ended and the settings again.
    private static let script = """
        trap : INT; echo before=$(stty -g); sh -c 'echo "pid=$$="; exec "$WAYPOST" watch'; echo "status=$?="; \
        echo after=$(stty -g)
        """

    private enum End: CaseIterable {
        case q, ctrlC, sigterm, sighup, sigquit
    }

    private func watch(
        _ site: Site<RunningAgent>, rows: Int = 24, columns: Int = 80
    ) throws -> TerminalSession {
        try TerminalSession(
            Self.script, rows: rows, columns: columns, environment: ["WAYPOST_BROKER": site.broker.url])
    }

    private func value(_ name: String, in text: String) -> Substring? {
        text.range(of: "\(name)=").map { text[$0.upperBound...].prefix { !$0.isNewline && $0 != "=" } }
    }

    @Test(arguments: End.allCases)
    private func `it shows agents, failures and the log, and however it ends the terminal is as before`(
        _ end: End
    ) async throws {
        let site = try await Site.open()
        let terminal = try watch(site)
        try await terminal.shows("1 of 1 agents online")
        _ = try await site.run("open", "scheme://router/user/7", "--agent", "k1")
        _ = try await site.run("open", "scheme://router/nowhere", "--agent", "k1", "--no-check")
        try await terminal.shows("opened scheme://router/user/7")
        try await terminal.shows("404 NO_ROUTE")
        // Once its rights are tested.
        try await terminal.shows("green")
        let screen = terminal.text
        #expect(screen.contains("AGENT"))
        #expect(screen.contains("\u{1B}[?1049h"))
        let pid = try #require(value("pid", in: screen).flatMap { Int32($0) })
        switch end {
        case .q: try terminal.type("q")
        case .ctrlC: try terminal.type("\u{3}")
        case .sigterm: kill(pid, SIGTERM)
        case .sighup: kill(pid, SIGHUP)
        case .sigquit: kill(pid, SIGQUIT)
        }
        try await terminal.shows("after=")
        _ = try await terminal.status()
        let all = terminal.text
        #expect(all.contains("\u{1B}[?25h\u{1B}[?1049l"))
        let before = value("before", in: all)
        #expect(before != nil && before == value("after", in: all), "\(all.debugDescription)")
        let status =
            switch end {
            case .q, .sighup, .sigquit: "0"
            case .ctrlC: "130"
            case .sigterm: "143"
            }
        #expect(value("status", in: all).map(String.init) == status)
    }

    @Test func `its keys scroll, filter, and show one agent or the keys; it starts with past failures`()
        async throws
    {
        let site = try await Site.open()
        _ = try await site.run("open", "scheme://router/before", "--agent", "k1", "--no-check")
        let terminal = try watch(site, rows: 40, columns: 120)
        try await terminal.shows("1 before")
        try await terminal.shows("no route matches scheme://router/before")
        for number in 1...3 {
            _ = try await site.run("open", "scheme://router/user/\(number)", "--agent", "k1")
        }
        try await terminal.shows("opened scheme://router/user/3")
        /// What the screen shows after a key, once it shows `text`.
        func after(_ key: String, _ text: String) async throws -> String {
            let mark = terminal.mark
            try terminal.type(key)
            let all = try await terminal.shows(text, after: mark)
            return all.components(separatedBy: "\u{1B}[H").last ?? ""
        }
        let back = try await after("\u{1B}[A", "paused, 1 lines back")
        #expect(!back.contains("user/3") && back.contains("user/2"))
        let newest = try await after("G", "user/3")
        #expect(!newest.contains("paused"))
        let filtered = try await after("/message:user/2\r", "filter message:user/2")
        #expect(filtered.contains("user/2") && !filtered.contains("user/3"))
        _ = try await after("/nosuch:x\r", "nosuch")
        _ = try await after("\u{1B}", "1 of 1 agents online")
        #expect(try await after("\u{1B}", "user/3").contains("── log ─"))
        #expect(try await after("\r", "since its start").contains("subscriptions"))
        #expect(try await after("?", "half a screen").contains("quit"))
        try terminal.type("q")
        #expect(try await terminal.status() == 0)
    }

    @Test(arguments: [
        ("jk", [WatchKey.scalar("j"), .scalar("k")]), ("\u{1B}[A\u{1B}OB", [.up, .down]),
        ("\u{1B}[5~\u{1B}[6~\u{1B}[1~\u{1B}[F\u{1B}[Z", [.pageUp, .pageDown, .home, .end, .backTab]),
        ("\u{1B}", [.escape]), ("\u{1B}q", [.escape, .scalar("q")]),
        ("\t\r\u{7F}", [.tab, .enter, .backspace]),
        ("é漢", [.scalar("é"), .scalar("漢")]), ("\u{1B}[1;5Cx", [.scalar("x")]), ("\u{1B}[", []),
        ("\u{1}", []),
    ])
    func `keys are read, however they are split`(_ text: String, _ keys: [WatchKey]) {
        var whole = WatchKeyReader()
        #expect(whole.keys(Array(text.utf8)) + whole.keys([], isAll: true) == keys)
        var split = WatchKeyReader()
        #expect(text.utf8.flatMap { split.keys([$0]) } + split.keys([], isAll: true) == keys)
        #expect(!split.isInside)
        // What never ends is not kept.
        var endless = WatchKeyReader()
        _ = endless.keys([0x1B, 0x5B] + Array(repeating: 0x31, count: 10_000))
        #expect(!endless.isInside)
    }

    @Test func `it fits the terminal, and follows when that changes its size`() async throws {
        let site = try await Site.open()
        let terminal = try watch(site, rows: 10, columns: 30)
        let small = try await terminal.shows("── log")
        let frame = try #require(small.components(separatedBy: "\u{1B}[H").dropFirst().last)
        #expect(frame.components(separatedBy: "\r\n").count <= 10)
        // The title's rule is drawn over the whole width.
        #expect(small.contains(String(repeating: "─", count: 6)))
        #expect(!small.contains(String(repeating: "─", count: 31)))
        let pid = try #require(value("pid", in: small).flatMap { Int32($0) })
        let mark = terminal.mark
        // The terminal is the one that the process has open as its input.
        let resize = Process()
        resize.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        resize.arguments = ["stty", "-F", "/proc/\(pid)/fd/0", "rows", "30", "cols", "90"]
        try withNoSignalBlocked { try resize.run() }
        try await terminal.shows(String(repeating: "─", count: 60), after: mark)
        try terminal.type("q")
        #expect(try await terminal.status() == 0)
    }

    @Test func `text from outside can't move the cursor`() async throws {
        let site = try await Site.open()
        let terminal = try watch(site, columns: 120)
        try await terminal.shows("1 of 1 agents online")
        _ = try await site.run("open", "scheme://router/\u{1B}[2Jnowhere", "--agent", "k1", "--no-check")
        let backend = try await Backend(broker: site.broker.url)
        try await backend.publish(
            #"{"t":1,"l":"E","tag":"Evil\u001b[1m","boot":"BBBBBBBB","seq":1,"pid":1,"tid":1,"msg":"a\u001b[2Jb\u009b31mc","type":1}"#,
            to: "waypost/v1/k1/log/e")
        try await terminal.shows(#"a\u{1B}[2Jb\u{009B}31mc"#)
        #expect(!terminal.text.contains("a\u{1B}[2J"))
        #expect(!terminal.text.contains("Evil\u{1B}"))
        try terminal.type("q")
        #expect(try await terminal.status() == 0)
        await backend.disconnect()
    }

    @Test func `the page of an agent is of now, and the log has who comes and goes`() async throws {
        let site = try await Site.open()
        let terminal = try watch(site, rows: 60, columns: 100)
        try await terminal.shows("1 of 1 agents online")
        let mark = terminal.mark
        try terminal.type("\t\r")
        try await terminal.shows("the agent was asked just now", after: mark)
        try terminal.type("\u{1B}")
        #expect(try await site.agent.terminate() == 0)
        try await terminal.shows("k1 is shut down")
        try terminal.type("q")
        #expect(try await terminal.status() == 0)
    }

    @Test func `when the broker goes it says so, and comes back with it`() async throws {
        let site = try await Site.open()
        let terminal = try watch(site)
        try await terminal.shows("1 of 1 agents online")
        try await site.broker.stop()
        try await terminal.shows("the broker")
        let mark = terminal.mark
        try await site.broker.start()
        try await terminal.shows(site.broker.url, after: mark)
        try terminal.type("q")
        #expect(try await terminal.status() == 0)
    }

    @Test func `without a terminal it prints lines as logcat does`() async throws {
        let site = try await Site.open()
        let watch = try site.start("watch", "--agent", "k1", "-v", "brief")
        try await watch.printedError("k1 is online")
        _ = try await site.run("open", "scheme://router/demo", "--agent", "k1")
        #expect(try await watch.printed("opened scheme://router/demo").hasPrefix("I/Router"))
        watch.send(signal: SIGTERM)
        let ending = try await watch.ending()
        #expect(ending.status == 0)
        #expect(!ending.output.joined().contains("\u{1B}"))
    }
}
