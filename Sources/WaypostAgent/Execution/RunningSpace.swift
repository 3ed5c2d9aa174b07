/// How many bytes the commands have that run, of each sender and of all: decoded they take up to 80 times as much.
///
/// Opens that a gate holds may stay for hours. They may have half of it, so that everything else finds space again once
/// what runs has ended, at the latest at its deadline.
struct RunningSpace: Sendable {
    /// A command of so many bytes finds space as long as nothing of its sender runs, whatever others have.
    static let small = 1_024

    private struct Use: Sendable, Equatable {
        /// Of commands that run, without those that are held.
        var running = 0
        /// Of those that a gate holds.
        var held = 0

        var all: Int { running + held }
    }

    private let limit: Int
    /// What one sender may have.
    private let share: Int
    private var total = Use()
    private var senders: [String: Use] = [:]

    /// - Parameter share: of one sender, in per cent.
    init(limit: Int, share: Int) {
        self.limit = limit
        self.share = limit.share(share)
    }

    func fits(_ bytes: Int, of sender: String) -> Bool {
        // One that is larger than all of the space runs alone.
        guard total.running > 0 else { return true }
        let mine = senders[sender] ?? Use()
        if mine.running == 0, bytes <= Self.small { return true }
        return (mine.running == 0 || mine.all + bytes <= share) && total.all + bytes <= limit
    }

    mutating func began(_ bytes: Int, of sender: String) { add(Use(running: bytes), sender) }

    /// - Parameter isHeld: whether a gate held it until then.
    mutating func ended(_ bytes: Int, of sender: String, isHeld: Bool) {
        add(isHeld ? Use(held: -bytes) : Use(running: -bytes), sender)
    }

    /// Why a command that runs may not wait at a gate; nil when it may.
    func reasonNotToHold(_ bytes: Int, of sender: String) -> String? {
        // One alone may, however large it is.
        guard total.held > 0 else { return nil }
        let mine = senders[sender]?.held ?? 0
        if mine > 0, mine + bytes > share / 2 {
            return
                "opens of \(sender) that wait at gates may use \(share / 2) bytes; \(mine) are in use, and this one has \(bytes)"
        }
        let limit = mine == 0 && bytes <= Self.small ? limit : limit / 2
        guard total.held + bytes > limit else { return nil }
        return
            "opens that wait at gates may use \(limit) bytes; \(total.held) are in use, and this one has \(bytes)"
    }

    /// A gate holds a command that ran, or lets it go on.
    mutating func held(_ bytes: Int, of sender: String, _ isHeld: Bool) {
        add(isHeld ? Use(running: -bytes, held: bytes) : Use(running: bytes, held: -bytes), sender)
    }

    /// Whether no more has ended than began.
    private var isConsistent: Bool {
        total.running >= 0 && total.held >= 0 && (!senders.isEmpty || total == Use())
    }

    private mutating func add(_ use: Use, _ sender: String) {
        defer { assert(isConsistent) }
        guard use != Use() else { return }
        total.running += use.running
        total.held += use.held
        var mine = senders[sender, default: Use()]
        mine.running += use.running
        mine.held += use.held
        senders[sender] = mine == Use() ? nil : mine
    }

    mutating func releaseMemory() { if senders.isEmpty { senders = [:] } }
}
