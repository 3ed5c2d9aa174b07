/// How many bytes the commands have that run, of each sender and of all: decoded they take up to 80 times as much.
struct RunningSpace: Sendable {
    /// A command of so many bytes finds space as long as nothing of its sender runs, whatever others hold.
    static let small = 1_024

    private let limit: Int
    /// What one sender may have.
    private let share: Int
    private var total = 0
    private var senders: [String: Int] = [:]

    /// - Parameter share: of one sender, in per cent.
    init(limit: Int, share: Int) {
        self.limit = limit
        self.share = limit.share(share)
    }

    func fits(_ bytes: Int, of sender: String) -> Bool {
        // One that is larger than all of the space runs alone.
        guard total > 0 else { return true }
        let mine = senders[sender] ?? 0
        if mine == 0, bytes <= Self.small { return true }
        return (mine == 0 || mine + bytes <= share) && total + bytes <= limit
    }

    mutating func began(_ bytes: Int, of sender: String) { add(bytes, sender) }

    mutating func ended(_ bytes: Int, of sender: String) { add(-bytes, sender) }

    private mutating func add(_ bytes: Int, _ sender: String) {
        guard bytes != 0 else { return }
        total += bytes
        let mine = senders[sender, default: 0] + bytes
        senders[sender] = mine == 0 ? nil : mine
    }

    mutating func releaseMemory() { if senders.isEmpty { senders = [:] } }
}
