/// The readers of what comes from outside; scripts/test --fuzz feeds each, and the tests feed each its corpus.
enum FuzzTarget: String, CaseIterable, Sendable {
    case url, pattern, json, command, map, topic, masking, `operator`, console, rollout

    private var laws: any Laws.Type {
        switch self {
        case .url: URLLaws.self
        case .pattern: PatternLaws.self
        case .json: JSONLaws.self
        case .command: CommandLaws.self
        case .map: MapLaws.self
        case .topic: TopicLaws.self
        case .masking: MaskingLaws.self
        case .operator: OperatorLaws.self
        case .console: ConsoleLaws.self
        case .rollout: RolloutLaws.self
        }
    }

    /// The longest time for 64 KiB, in nanoseconds, in a release build.
    var timeLimit: Int64 {
        switch self {
        // All commands, all pages of the console, or all that steers, read a message one after the other.
        case .operator, .console, .rollout: 10 * TimeBound.limit
        default: TimeBound.limit
        }
    }

    /// Reads the bytes and checks what must be true of every input.
    func check(_ bytes: [UInt8]) throws(BrokenLaw) { try laws.check(bytes) }

    /// The same without what takes most of the time: that of many inputs is looked at of one in so many.
    func checkQuickly(_ bytes: [UInt8]) throws(BrokenLaw) { try laws.checkQuickly(bytes) }

    /// Only reads the bytes, as the product does: what is measured.
    func read(_ bytes: [UInt8]) { laws.read(bytes) }
}

/// A reader, and what must be true of it whatever it reads.
protocol Laws {
    static func read(_ bytes: [UInt8])
    static func check(_ bytes: [UInt8]) throws(BrokenLaw)
    /// What must be true of each of ten million inputs; all of it, unless the laws have a quicker part.
    static func checkQuickly(_ bytes: [UInt8]) throws(BrokenLaw)
}

extension Laws {
    static func checkQuickly(_ bytes: [UInt8]) throws(BrokenLaw) { try check(bytes) }
}

/// What was not true of an input.
struct BrokenLaw: Error {
    let law: String

    /// Throws unless `condition` is true.
    static func unless(_ condition: Bool, _ law: @autoclosure () -> String) throws(BrokenLaw) {
        if !condition { throw BrokenLaw(law: law()) }
    }
}
