import Waypost
import WaypostMessages

/// What simulated agents write into their logs, and how they fail.
enum SimulatedTexts {
    /// A line of the log.
    struct Line: Sendable {
        var level: LogLevel
        var tag: String
        /// `#` stands for a number.
        var text: String
        /// The URL that it is about, which the text begins to name with `@`.
        var url: String?
        var isError = false
        /// Whether a command caused it.
        var hasRef = false
    }

    /// A failure.
    struct Fault: Sendable {
        var code: Code
        var origin: FailureReport.Origin
        var detail: String
        var url: String?
    }

    static let lines: [Line] = [
        Line(level: .info, tag: "Router", text: "opened @", url: "scheme://router/demo?id=***", hasRef: true),
        Line(level: .info, tag: "Router", text: "opened @", url: "scheme://router/orders", hasRef: true),
        Line(level: .info, tag: "Router", text: "opened @", url: "scheme://router/user/#"),
        Line(level: .info, tag: "Router", text: "opened @", url: "scheme://router/printer"),
        Line(level: .info, tag: "Service", text: "returned CalculatorService.add(a:b:)", hasRef: true),
        Line(level: .info, tag: "Service", text: "returned PrinterService.print(line:)"),
        Line(level: .info, tag: "Service", text: "returned AppConfigServiceProtocol.openMiniProgram(info:)"),
        Line(level: .info, tag: "App", text: "session # started"),
        Line(level: .info, tag: "App", text: "cart closed: # items"),
        Line(level: .info, tag: "App", text: "receipt # printed"),
        Line(level: .info, tag: "App", text: "payment # accepted"),
        Line(level: .info, tag: "App", text: "screen saver on after # s"),
        Line(level: .info, tag: "Sync", text: "# records in one go"),
        Line(level: .info, tag: "Sync", text: "prices are up to date, # of them"),
        Line(level: .info, tag: "Agent", text: "outbox empty after # messages"),
        Line(level: .warning, tag: "App", text: "the printer is low on paper: # slips left"),
        Line(level: .warning, tag: "App", text: "slow query: # ms"),
        Line(level: .warning, tag: "Sync", text: "the server asked to wait for # s"),
        Line(level: .warning, tag: "Link", text: "the broker took # ms to acknowledge"),
        Line(
            level: .warning, tag: "Router", text: "fellBack @", url: "scheme://router/promotion/#",
            hasRef: true),
        Line(
            level: .error, tag: "App", text: "the payment terminal does not answer, try # of 9", isError: true
        ),
        Line(level: .error, tag: "Sync", text: "upload of batch # failed: connection reset", isError: true),
    ]

    /// What only an agent writes that was asked for more.
    static let details: [Line] = [
        Line(level: .verbose, tag: "Router", text: "will open @", url: "scheme://router/demo?id=#"),
        Line(
            level: .verbose, tag: "Router", text: "redirected @ to scheme://router/demo1",
            url: "scheme://router/demo"),
        Line(level: .verbose, tag: "Service", text: "called CalculatorService.add(a:b:)", hasRef: true),
        Line(level: .debug, tag: "App", text: "cache: # hits"),
        Line(level: .debug, tag: "App", text: "frame # drawn late"),
        Line(level: .debug, tag: "Sync", text: "next look in # s"),
        Line(level: .debug, tag: "Link", text: "# bytes out, # bytes in"),
    ]

    static let faults: [Fault] = [
        Fault(
            code: .handlerFailed, origin: .service,
            detail: "PrinterService.print(line:) threw: paper jam in tray 2"),
        Fault(
            code: .deadline, origin: .router, detail: "the handler did not end within 10000 ms",
            url: "scheme://router/orders"),
        Fault(
            code: .intercepted, origin: .router, detail: "login: no one is logged in",
            url: "scheme://router/orders"),
        Fault(
            code: .handlerFailed, origin: .router, detail: "the handler threw: no stock of article 4711",
            url: "scheme://router/user/7"),
        Fault(
            code: .sessionLost, origin: .link,
            detail:
                "the broker no longer has the session of this agent; messages sent to it while it was offline are lost"
        ),
    ]

    /// URLs that no route of the demo matches; a map may repair them.
    static let wrongURLs = [
        "scheme://router/demo9", "scheme://router/checkout", "scheme://router/ordres?from=menu",
        "scheme://router/users/42",
    ]

    /// What is wrong with an agent whose health is red: the name of the check and what it found.
    static let problems = [
        ("store", "the last commit failed: database or disk is full"),
        ("outbox", "full: no new commands until the broker has taken some reports"),
        ("handlers", "handlers block all 64 threads; other commands end with 408"),
        ("subscriptions", "refused: waypost/v1/@all/cmd/+"),
        ("modules", "printer: no printer is connected"),
    ]

    /// The checks in their order, each with what a healthy agent says of it; the first names the broker.
    static let checks = [
        ("link", ""), ("store", "ok (writable)"), ("ids", "ok (free space)"), ("outbox", "ok (free space)"),
        ("clock", "ok (plausible)"), ("loop", "ok (running)"), ("handlers", "ok (free threads)"),
        ("map", "ok (not expired)"), ("modules", "ok (set up)"), ("routes", "ok (published)"),
        ("publishes", "ok (accepted)"), ("subscriptions", "ok (all granted)"), ("echo", "ok (it came back)"),
        ("commands", "ok (they arrive)"),
    ]
}

extension SimulatedTexts.Line {
    /// The line with its numbers and its URL.
    func filled(_ chance: inout SeededChance) -> (text: String, url: String?) {
        func numbered(_ text: String, _ chance: inout SeededChance) -> String {
            text.split(separator: "#", omittingEmptySubsequences: false).joined(
                separator: "\(Int.random(in: 1...900, using: &chance))")
        }
        let url = url.map { numbered($0, &chance) }
        let text = numbered(text, &chance)
        return (
            text.split(separator: "@", omittingEmptySubsequences: false).joined(separator: url ?? ""), url
        )
    }
}
