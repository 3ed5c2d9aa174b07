import Glibc

/// Says when a wait is in vain: when nothing has gone on for a while.
///
/// A wait that lasts as long as something goes on fails soon when nothing does, and yet passes on a busy machine. There
/// what is waited for gets its turn later: so a moment in which twice as many threads want to run as there are processors
/// counts as half a moment, and one in which this process itself did not run counts hardly at all.
public struct Patience {
    /// Without progress for so long, a wait ends; a program with a sanitizer takes several times as long.
    public static let usual = Duration.seconds(Sanitizer.isAbsent ? 20 : 120)
    /// How often a wait looks for progress; a longer pause than two of these counts as two.
    public static let look = Duration.milliseconds(250)
    /// Of looks that follow one another closer than that, only one is taken.
    private static let shortest = Duration.milliseconds(5)
    /// However much goes on, a wait ends after so many times the time for which nothing may, unless it says otherwise.
    private static let longest = 6

    private let quiet: Duration
    private let longest: Duration
    private var lastLook = ContinuousClock.now
    private var lastProgress = 0
    private var withoutProgress = Duration.zero
    private var all = Duration.zero

    /// A wait that ends when nothing has gone on for so long.
    ///
    /// - Parameter longest: when it ends in any case; for what goes on and never leads to what is waited for.
    public init(_ quiet: Duration = Patience.usual, atMost longest: Duration? = nil) {
        self.quiet = quiet
        self.longest = longest ?? quiet * Self.longest
    }

    /// Whether the wait is over.
    ///
    /// - Parameter progress: how far it has come; any other number than at the last look is progress.
    public mutating func isOver(at progress: Int) -> Bool {
        let now = ContinuousClock.now
        // Who asks at each step of a computation need not know each time who else runs.
        guard now - lastLook >= Self.shortest else { return false }
        let moment = min(now - lastLook, Self.look * 2) * Self.share
        lastLook = now
        all += moment
        withoutProgress = progress == lastProgress ? withoutProgress + moment : .zero
        lastProgress = progress
        return withoutProgress >= quiet || all >= longest
    }

    /// The part of a processor that each thread gets that wants to run now; 1 when there is one for each.
    private static var share: Double {
        guard let file = fopen("/proc/loadavg", "re") else { return 1 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        // `0.64 0.55 0.41 3/531 12345`: three run or want to.
        guard fgets(&line, Int32(line.count), file) != nil,
            let running = String(
                decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self
            )
            .split(separator: " ").dropFirst(3).first?.split(separator: "/").first.flatMap({ Double($0) })
        else { return 1 }
        return min(1, Double(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) / max(1, running))
    }
}
