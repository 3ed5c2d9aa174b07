import CWorld
import FoundationEssentials
import Glibc
import Waypost

/// Runs histories, several at a time, each life in a process of its own.
///
/// These are made from this one, which has no second thread: so a life begins with all libraries loaded, and with
/// what the language's runtime has looked up already.
package struct HistoryRunner {
    /// A history that is under way.
    private struct Run {
        let plan: HistoryPlan
        let folder: String
        /// Of those that run at a time; below 0 for one alone.
        let number: Int
        var process: pid_t = 0
        var pipe: Int32 = -1
        var bytes: [UInt8] = []
        /// What its lives took of a processor.
        var seconds = 0.0
    }

    private let showsNotes: Bool
    private let root: String

    package init(showsNotes: Bool = false) {
        self.showsNotes = showsNotes
        // In memory where there is such a folder: what is durable is decided by the world's disk.
        root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        Self.warmUp()
    }

    /// What all lives do first, so that each finds it done.
    private static func warmUp() {
        let plan = HistoryPlan(.crashes, seed: 0)
        let life = Life(plan)
        _ = try? JSONDecoder().decode(Life.self, from: JSONEncoder().encode(life))
        _ = try? WorldApp().register(on: Router())
        var (people, deeds) = (People(), Deeds(Draws(seed: 1, stream: 1), without: [], signer: nil))
        for _ in 0..<40 {
            _ = deeds.next(&people, at: SeededScheduler.Clock(wall: SeededScheduler.wallStart, error: 0))
        }
    }

    /// One history, to its end.
    package func run(_ plan: HistoryPlan) -> HistoryReport {
        var (plans, found) = ([plan], Self.noProcess(plan))
        run(width: 1, next: { plans.popLast() }, ended: { found = $1 })
        return found
    }

    /// Histories, until there is none to begin any more.
    ///
    /// - Parameters:
    ///   - width: how many at a time.
    ///   - next: the one to begin; nil for none.
    ///   - ended: gets each with what came of it.
    package func run(
        width: Int, next: () -> HistoryPlan?, ended: (HistoryPlan, HistoryReport) -> Void
    ) {
        var runs: [Run] = []
        while true {
            while runs.count < width, let plan = next() {
                let number = (0..<width).first { place in !runs.contains { $0.number == place } }
                if let run = begin(plan, width > 1 ? number ?? 0 : -1) {
                    runs.append(run)
                } else {
                    ended(plan, Self.noProcess(plan))
                }
            }
            guard !runs.isEmpty else { return }
            var polls = runs.map { pollfd(fd: $0.pipe, events: Int16(POLLIN), revents: 0) }
            guard poll(&polls, nfds_t(polls.count), -1) > 0 else { continue }
            for index in polls.indices.reversed() where polls[index].revents != 0 {
                guard !readMore(&runs[index]) else { continue }
                var report = end(&runs[index])
                if report.goesOn, live(&runs[index]) { continue }
                let run = runs.remove(at: index)
                report.seconds = run.seconds
                try? FileManager.default.removeItem(atPath: run.folder)
                ended(run.plan, report)
            }
        }
    }

    private static func noProcess(_ plan: HistoryPlan) -> HistoryReport {
        HistoryReport(text: "\(plan.kind) \(plan.seed): no process", isGood: false)
    }

    private func begin(_ plan: HistoryPlan, _ number: Int) -> Run? {
        var template = Array("\(root)/waypost-world-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { return nil }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var run = Run(plan: plan, folder: folder, number: number)
        guard live(&run) else { return nil }
        return run
    }

    /// The next life, in a new process.
    private func live(_ run: inout Run) -> Bool {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return false }
        // What is printed already is not printed twice.
        fflush(nil)
        let process = world_fork()
        guard process != 0 else { childLives(run, ends[1]) }
        close(ends[1])
        (run.process, run.pipe, run.bytes) = (process, ends[0], [])
        guard process > 0 else {
            close(ends[0])
            return false
        }
        return true
    }

    private func childLives(_ run: Run, _ output: Int32) -> Never {
        // Who interrupts the whole waits for this one.
        signal(SIGINT, SIG_IGN)
        signal(SIGTERM, SIG_IGN)
        world_keep_processor(Int32(run.number))
        let report =
            chdir(run.folder) == 0
            ? run.plan.live(showsNotes: showsNotes)
            : HistoryReport(text: "\(run.folder): errno \(errno)", isGood: false)
        var bytes = (try? JSONEncoder().encode(report)).map { Array($0) } ?? []
        while !bytes.isEmpty {
            let count = write(output, bytes, bytes.count)
            guard count > 0 else { break }
            bytes.removeFirst(count)
        }
        fflush(nil)
        // The threads of the world are still there, and none may go on.
        _exit(0)
    }

    /// False at the end.
    private func readMore(_ run: inout Run) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = read(run.pipe, &buffer, buffer.count)
        if count > 0 { run.bytes += buffer.prefix(count) }
        return count > 0 || (count < 0 && errno == EINTR)
    }

    private func end(_ run: inout Run) -> HistoryReport {
        close(run.pipe)
        var (status, usage) = (0 as Int32, rusage())
        while wait4(run.process, &status, 0, &usage) < 0, errno == EINTR {}
        run.seconds += [usage.ru_utime, usage.ru_stime].reduce(0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1_000_000
        }
        guard status == 0, let report = try? JSONDecoder().decode(HistoryReport.self, from: Data(run.bytes))
        else {
            let end = status & 0x7F == 0 ? "status \(status >> 8)" : "signal \(status & 0x7F)"
            return HistoryReport(
                text: "\(run.plan.kind) \(run.plan.seed): its process ended with \(end)", isGood: false)
        }
        return report
    }

    /// A smaller history that breaks the same law, by trying what it may be without, one after the other.
    ///
    /// - Parameter tells: gets each that is smaller.
    package func shrink(_ plan: HistoryPlan, tells: (HistoryPlan) -> Void = { _ in }) -> HistoryPlan {
        guard let law = run(plan).law else { return plan }
        var best = plan
        func isStill(_ change: (inout HistoryPlan) -> Void) -> Bool {
            var smaller = best
            change(&smaller)
            guard smaller != best, world_is_interrupted() == 0, run(smaller).law == law else { return false }
            best = smaller
            tells(best)
            return true
        }
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for part in HistoryPart.allCases where isStill({ $0.without.insert(part) }) { hasChanged = true }
            for lives in 1..<max(2, best.lives) where isStill({ $0.lives = lives }) {
                hasChanged = true
                break
            }
            for deeds in 1..<max(2, best.deeds) where isStill({ $0.deeds = deeds }) {
                hasChanged = true
                break
            }
        }
        return best
    }
}
