import Glibc
import Threading
import UnixSignals
import WaypostBackend
import WaypostMessages

/// Keeps the screen up to date until a key or a signal ends it.
struct WatchLoop {
    /// The shortest time between two drawings, so that a flood costs some of them a second; a line is on the screen
    /// within two pauses and two drawings.
    private static let shortestPause = Duration.milliseconds(30)
    /// The longest time between two drawings: times on the screen go on when nothing happens.
    private static let longestPause = Duration.seconds(1)

    let feed: WatchFeed
    let style: Style
    let state: WatchState

    /// - Throws: ``CommandError`` 4 when there is no broker at the start, `CancellationError` on a signal.
    func run() async throws {
        let session = try await feed.connect()
        guard ScreenMode.begin() else {
            await session.close()
            throw CommandError(.failed, "this terminal does not support a screen; use waypost logcat")
        }
        defer { ScreenMode.end() }
        let (feed, state) = (feed, state)
        let tasks = [
            Task { await feed.run(session, state) },
            Task { await Self.listenToSignals(state) },
            Task {
                while (try? await MonotonicTime.sleep(for: Self.longestPause)) != nil { state.redraw() }
            },
        ]
        defer { for task in tasks { task.cancel() } }
        Self.readKeys(state)
        await follow()
        ScreenMode.end()
        for task in tasks { task.cancel() }
        // It disconnects when it is cancelled.
        await tasks[0].value
        try Task.checkCancellation()
    }

    private func follow() async {
        draw(state.content)
        for await _ in state.changes {
            let content = state.content
            if content.view.hasEnded { return }
            draw(content)
            try? await MonotonicTime.sleep(for: Self.shortestPause)
        }
    }

    private func draw(_ content: WatchState.Content) {
        let (rows, columns) = ScreenMode.size
        let screen = WatchScreen(rows: rows, columns: columns, style: style)
        Terminal.draw(WatchScreen.drawing(screen.lines(content.model, content.view)))
    }

    private static func listenToSignals(_ state: WatchState) async {
        for await signal in await UnixSignalsSequence(trapping: .sigwinch, .sighup, .sigquit) {
            if signal == .sigwinch { state.redraw() } else { state.end() }
        }
    }

    private static func readKeys(_ state: WatchState) {
        let invocation = Invocation.current
        // A thread of its own: read blocks, and goes with the process.
        let failure = PlainThread.start(name: "wp-keys") {
            var buffer = [UInt8](repeating: 0, count: 64)
            var reader = WatchKeyReader()
            while true {
                // The rest of a key comes with its beginning, or at once.
                var input = pollfd(fd: invocation.input, events: Int16(POLLIN), revents: 0)
                let isAll = reader.isInside && poll(&input, 1, 50) == 0
                let count = isAll ? 0 : read(invocation.input, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                guard isAll || count > 0 else { return state.end() }
                let keys = reader.keys(Array(buffer[..<count]), isAll: isAll)
                guard !keys.isEmpty else { continue }
                let rows = Invocation.$current.withValue(invocation) { ScreenMode.size.rows }
                state.change { content in
                    for key in keys { content.view.pressed(key, content.model, rows: rows) }
                }
            }
        }
        // Without one there are no keys to end it by.
        if failure != nil { state.end() }
    }
}
