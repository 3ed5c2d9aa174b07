import Dispatch
import Glibc
import UnixSignals
import WaypostMessages

/// Keeps the screen up to date until a key or a signal ends it.
struct WatchLoop {
    /// How long news gather before they are drawn: a flood costs a few drawings a second.
    private static let gathering = Duration.milliseconds(60)
    /// How often it is drawn anew when nothing happens: times go on.
    private static let pause = Duration.seconds(1)

    let feed: WatchFeed
    let style: Style
    var model: WatchModel

    /// - Throws: ``CommandError`` 4 when there is no broker at the start, `CancellationError` on a signal.
    mutating func run() async throws {
        let session = try await feed.connect()
        guard ScreenMode.begin() else {
            await session.close()
            throw CommandError(.failed, "the terminal can't be drawn on; see: waypost logcat")
        }
        defer { ScreenMode.end() }
        let (news, sink) = AsyncStream.makeStream(
            of: WatchEvent.self, bufferingPolicy: .bufferingNewest(100_000))
        let feed = feed
        let tasks = [
            Task { await feed.run(session) { sink.yield($0) } },
            Task { await Self.listenToSignals { sink.yield($0) } },
            Task {
                while (try? await Task.sleep(for: Self.pause)) != nil { sink.yield(.redraw) }
            },
        ]
        defer { for task in tasks { task.cancel() } }
        Self.readKeys { sink.yield($0) }
        await follow(news) { sink.yield($0) }
        ScreenMode.end()
        for task in tasks { task.cancel() }
        // It says goodbye to the broker when it is cancelled.
        await tasks[0].value
        try Task.checkCancellation()
    }

    private mutating func follow(
        _ news: AsyncStream<WatchEvent>, _ tell: @escaping @Sendable (WatchEvent) -> Void
    )
        async
    {
        draw()
        var drawn = ContinuousClock.now
        var isDue = false
        for await next in news {
            switch next {
            case .message(let message): model.saw(message)
            case .connected(let broker): (model.link, model.isConnected) = (broker, true)
            case .lost(let reason): (model.link, model.isConnected) = (reason, false)
            case .key(UInt8(ascii: "q")), .key(UInt8(ascii: "Q")), .ended: return
            case .key: continue
            case .redraw:
                isDue = false
                draw()
                drawn = .now
                continue
            }
            guard !isDue else { continue }
            isDue = true
            let rest = Self.gathering - (ContinuousClock.now - drawn)
            Task {
                if rest > .zero { try? await Task.sleep(for: rest) }
                tell(.redraw)
            }
        }
    }

    private func draw() {
        let (rows, columns) = ScreenMode.size
        let screen = WatchScreen(rows: rows, columns: columns, style: style)
        Terminal.draw(WatchScreen.drawing(screen.lines(model)))
    }

    private static func listenToSignals(_ tell: (WatchEvent) -> Void) async {
        for await signal in await UnixSignalsSequence(trapping: .sigwinch, .sighup, .sigquit) {
            tell(signal == .sigwinch ? .redraw : .ended)
        }
    }

    private static func readKeys(_ tell: @escaping @Sendable (WatchEvent) -> Void) {
        // A thread of its own: read blocks, and goes with the process.
        DispatchQueue(label: "waypost.keys").async {
            var key: UInt8 = 0
            while true {
                let count = read(STDIN_FILENO, &key, 1)
                if count < 0 && errno == EINTR { continue }
                guard count == 1 else { return tell(.ended) }
                tell(.key(key))
            }
        }
    }
}
