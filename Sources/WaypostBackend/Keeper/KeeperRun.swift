import Logging
import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// Runs a ``MapKeeper`` at a broker, over lost connections.
struct KeeperRun {
    private static let tick = Duration.milliseconds(100)

    private let settings: BackendConfiguration
    private let wanted: [WantedMap]

    init(_ settings: BackendConfiguration, _ wanted: [WantedMap]) {
        (self.settings, self.wanted) = (settings, wanted)
    }

    /// Until the task is cancelled.
    ///
    /// - Throws: ``BackendError`` when there is no broker at first, or when it does not allow it.
    func run(_ report: (KeeperNews) -> Void) async throws {
        var keeper = MapKeeper(wanted, topics: settings.topics)
        var isFirst = true
        while true {
            do {
                try await run(&keeper, report, &isFirst)
            } catch let error as BackendError where error.kind == .noBroker && !isFirst {
                settings.logger.warning("\(error)")
                try await MonotonicTime.sleep(for: .seconds(1))
            }
        }
    }

    private func run(
        _ keeper: inout MapKeeper, _ report: (KeeperNews) -> Void, _ isFirst: inout Bool
    ) async throws {
        let filters = MapKeeper.filters(settings.topics)
        let session = try await BackendSession.connect(
            settings, required: [filters[0]], useful: Array(filters.dropFirst()), byteLimit: 256 << 20)
        if !isFirst { report(.connected) }
        isFirst = false
        var chance = Chance()
        func now() -> Int64 { Int64(clamping: MonotonicTime.now / 1_000_000) }
        do {
            var last = now()
            var alarm = session.alarm(after: Self.tick)
            defer { alarm.cancel() }
            while true {
                if case .message(let message) = try await session.next() {
                    keeper.saw(message, at: now(), using: &chance)
                    guard now() - last >= Self.tick.milliseconds else { continue }
                } else {
                    alarm = session.alarm(after: Self.tick)
                }
                last = now()
                for message in keeper.takeDue(at: last) {
                    guard case .map(let audience)? = settings.topics.inbound(message.topic) else { continue }
                    let map = Relocation(document: message.payload, .map)
                    do {
                        // A newer one may have come in this moment, or be where no wildcard shows it.
                        try await session.replaceMap(with: map, of: audience, allowing: []) {
                            keeper.saw($0, at: now(), using: &chance)
                        }
                    } catch let error as BackendError where !error.objections.isEmpty {
                        // The keeper has seen it, and says so.
                        continue
                    }
                    report(.published(topic: message.topic))
                }
                for audience in keeper.takeUnheard(at: last) { report(.unheard(audience.description)) }
                for (audience, revision, wanted) in keeper.takeOvertaken() {
                    report(.overtaken(audience.description, revision: revision, wanted: wanted))
                }
            }
        } catch {
            await session.close()
            throw error
        }
    }
}
