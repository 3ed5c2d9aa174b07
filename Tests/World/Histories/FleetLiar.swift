import Threading
import Waypost
import WaypostFleet
import WaypostMessages

/// One member of the group says what is not so, from its beginning on.
struct FleetLiar {
    static let name = "liar"
    private let client: WorldClient
    private var draws: Draws
    /// What it says most of the time.
    private let usual: Int
    private var epoch: Int64 = 0
    private var number = 0
    /// The last that the broker has.
    private var heard = ""
    private var isLeaving = false

    init(at broker: MemoryBroker, _ draws: Draws) {
        (client, self.draws) = (WorldClient(Self.name, at: broker, []), draws)
        usual = Int.random(in: 0...11, using: &self.draws)
        comes()
    }

    /// It comes, and nobody has reason not to believe that it is an agent.
    private mutating func comes() {
        epoch = max(epoch + 1_000_000, WallClock.now())
        sayState(.birth)
        sayHealth(isRed: false)
        says(AppliedMap().encoded())
    }

    /// It goes, and says so.
    private mutating func goes() {
        reconnect()
        epoch += 1_000_000
        sayState(.shutdown)
    }

    /// It goes for good, and lies no more; false when the broker has that.
    mutating func leaves() -> Bool {
        reconnect()
        guard !isLeaving || heard != "\(number)" else { return false }
        isLeaving = true
        goes()
        return true
    }

    /// Something of a roll-out, if there is one, or of itself.
    mutating func lies(about control: RolloutControl?) {
        guard !isLeaving else { return }
        reconnect()
        let largest = Fields.largestInteger
        let other = Int.random(in: 0...33, using: &draws)
        switch other < 12 ? other : usual {
        case 0: comes()
        case 1: goes()
        case 2: sayHealth(isRed: true)
        case 3: report(.next, .chosen, opened: largest, failed: largest, of: control)
        case 4: report(.next, .chosen, opened: largest, of: control)
        case 5: report(.next, .promoted, of: control)
        case 6: report(.base, .guarded, of: control)
        case 7: report(.base, .drifted, of: control)
        case 8: report(.base, .refused, of: control)
        case 9: report(.next, .chosen, of: control, order: .init(epoch: largest, sequence: largest))
        case 10: says(Array(#"{"layers":[{"layer":"@fleet","rev":-1}],"entries":9e99,"rollout":7}"#.utf8))
        default: for _ in 0..<30 { fails(control) }
        }
    }

    /// What broke its connection is noticed when it has something to say.
    private mutating func reconnect() {
        client.take(until: MonotonicTime.now) { event in
            if case .published(let id) = event { heard = id }
        }
    }

    private mutating func report(
        _ place: RolloutReport.Place, _ reason: RolloutReport.Reason, opened: Int64 = 0, failed: Int64 = 0,
        of control: RolloutControl?, order: RolloutControl.Order? = nil
    ) {
        guard let control else { return }
        let order = order ?? control.order
        var applied = AppliedMap()
        if let map = place == .next ? control.next : control.base {
            applied.layers = [
                .init(name: "@\(FleetTruth.group)", revision: map.revision, digest: map.digest, at: epoch)
            ]
        }
        applied.isWanted = Bool.random(using: &draws)
        applied.rollouts = [
            RolloutReport(
                layer: "@\(FleetTruth.group)", id: control.id, epoch: order.epoch, sequence: order.sequence,
                place: place, reason: reason, opened: opened, failed: failed)
        ]
        says(applied.encoded())
    }

    private mutating func fails(_ control: RolloutControl?) {
        number += 1
        var report = FailureReport(
            id: "f\(number)", code: Bool.random(using: &draws) ? .noRoute : .handlerFailed, origin: .router,
            url: "shop://where/fleet", detail: "it failed", at: WallClock.now())
        report.map = control?.next.revision.map { .init(layer: "@\(FleetTruth.group)", revision: $0) }
        publish(report.encoded(), on: FleetTruth.topics.failures(of: Self.name), retain: false)
    }

    private mutating func sayState(_ reason: AgentState.Reason) {
        let state = AgentState(
            isOnline: reason == .birth, epoch: epoch, boot: "b\(epoch)", reason: reason, agent: Self.name,
            version: "0.2.0", mqtt: 5)
        publish(state.encoded(), on: FleetTruth.topics.state(of: Self.name), retain: true)
    }

    private mutating func sayHealth(isRed: Bool) {
        let json: JSONValue = [
            "groups": [.string(FleetTruth.group)], "status": .string(isRed ? "red" : "green"),
        ]
        publish(json.serialized(), on: FleetTruth.topics.health(of: Self.name), retain: true)
    }

    private mutating func says(_ applied: [UInt8]) {
        publish(applied, on: FleetTruth.topics.applied(of: Self.name), retain: true)
    }

    private mutating func publish(_ payload: [UInt8], on topic: String, retain: Bool) {
        number += 1
        client.publish(String(decoding: payload, as: UTF8.self), on: topic, as: "\(number)", retain: retain)
    }
}
