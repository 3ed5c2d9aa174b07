#if canImport(Glibc)
/// Jobs in order of arrival for each owner, owners in turn, and no more of one at a time than its share of the threads.
///
/// A handler that blocks keeps its thread: without a share one sender's would keep all of them. What has no owner comes
/// first and has no limit.
struct FairQueue<Job> {
    private struct Line {
        var jobs = Queue<Job>()
        /// Jobs that run on a thread now.
        var running = 0
        /// Jobs taken since the last look.
        var taken = 0
    }

    /// The most threads that one owner has at a time.
    let share: Int
    private var ownerless = Queue<Job>()
    private var lines: [String: Line] = [:]
    /// Who has jobs and may have a thread more, in turn.
    private var turns = Queue<String>()

    init(share: Int) { self.share = max(1, share) }

    /// Whether no job may run now.
    var isEmpty: Bool { ownerless.isEmpty && turns.isEmpty }

    /// How many jobs may run now, if there is a thread for each.
    var count: Int {
        turns.reduce(ownerless.count) { count, name in
            count + (lines[name].map { min($0.jobs.count, share - $0.running) } ?? 0)
        }
    }

    /// Whether an owner may have a thread more.
    func hasSpace(for owner: String?) -> Bool {
        owner.flatMap { lines[$0] }.map { $0.running < share } ?? true
    }

    /// Whether an owner that has its turn has jobs; of many owners, the next one.
    private var isConsistent: Bool {
        turns.first { _ in true }.map { lines[$0].map { !$0.jobs.isEmpty && $0.running < share } ?? false }
            ?? true
    }

    mutating func append(_ job: Job, of owner: String?) {
        defer { assert(isConsistent) }
        guard let owner else { return ownerless.append(job) }
        lines[owner, default: Line()].jobs.append(job)
        if let line = lines[owner], line.jobs.count == 1, line.running < share { turns.append(owner) }
    }

    /// Takes the next job that may run; ``ended(_:)`` follows.
    mutating func popFirst() -> Job? {
        defer { assert(isConsistent) }
        if let job = ownerless.popFirst() { return job }
        guard let owner = turns.popFirst(), let job = lines[owner]?.jobs.popFirst() else { return nil }
        lines[owner]?.taken += 1
        began(owner)
        if let line = lines[owner], !line.jobs.isEmpty, line.running < share { turns.append(owner) }
        return job
    }

    /// A job of this owner begins that was not taken from here; ``ended(_:)`` follows.
    mutating func began(_ owner: String?) {
        defer { assert(isConsistent) }
        guard let owner else { return }
        lines[owner, default: Line()].running += 1
        if let line = lines[owner], line.running == share { turns.removeAll { $0 == owner } }
    }

    /// A job of this owner has left its thread.
    mutating func ended(_ owner: String?) {
        defer { assert(isConsistent) }
        guard let owner, var line = lines[owner] else { return }
        line.running -= 1
        // One more may run; before, none could.
        if line.running == share - 1, !line.jobs.isEmpty { turns.append(owner) }
        lines[owner] = line.running == 0 && line.jobs.isEmpty ? nil : line
    }

    /// Takes a look: whether jobs wait behind others of their owner, and the owners of whom none was taken since the last.
    mutating func look() -> (someWait: Bool, stuck: [String]) {
        defer { assert(isConsistent) }
        let waiting = lines.filter { $0.value.running >= share && !$0.value.jobs.isEmpty }
        let stuck = waiting.filter { $0.value.taken == 0 }.keys.sorted()
        for owner in lines.keys { lines[owner]?.taken = 0 }
        return (!waiting.isEmpty, stuck)
    }
}
#endif
