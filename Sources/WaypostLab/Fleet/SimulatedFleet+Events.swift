import MQTTLink
import Waypost
import WaypostAgent
import WaypostMessages

/// What simulated agents log and report.
extension SimulatedFleet {
    /// The lowest level that an agent publishes.
    private func lowest(_ index: Int, _ tag: String, at now: Int64) -> LogLevel {
        guard let override = overrides[index], agents[index].clock(at: now) < override.until,
            override.tag == nil || override.tag == tag
        else { return .info }
        return override.lowest(over: .info)
    }

    /// An event, when the agent publishes its level.
    mutating func log(
        _ index: Int, _ level: LogLevel, _ tag: String, _ message: String, url: String? = nil,
        isError: Bool = false, ref: String? = nil, trace: String? = nil, at now: Int64
    ) -> [FleetStep] {
        guard level >= lowest(index, tag, at: now) else { return [] }
        agents[index].sequence &+= 1
        let event = LogEvent(
            time: agents[index].clock(at: now), level: level, tag: tag, boot: boot(index),
            sequence: Int64(agents[index].sequence), process: process(index), thread: process(index) + 3,
            message: redaction.masked(message).cut(to: LogEvent.maximumMessageBytes),
            url: url.map(redaction.masked), isError: isError, ref: ref, trace: trace)
        remember(event, of: index, in: \.events)
        var properties = MQTTProperties()
        properties.contentType = "application/x-ndjson"
        properties.payloadIsUTF8 = true
        return [
            .publish(
                MQTTMessage(
                    topic: plan.topics.log(of: plan.name(index), level: level), payload: event.encoded(),
                    qos: level.isDeliveredAtLeastOnce ? .atLeastOnce : .atMostOnce, properties: properties),
                by: index)
        ]
    }

    /// One of some lines that could stand in its log.
    mutating func line(_ index: Int, _ lines: [SimulatedTexts.Line], at now: Int64) -> [FleetStep] {
        var chance = agents[index].chance
        let line = lines[Int.random(in: lines.indices, using: &chance)]
        let (text, url) = line.filled(&chance)
        let ref =
            line.hasRef && Bool.random(using: &chance) ? Identifier.ulid(at: now, using: &chance) : nil
        agents[index].chance = chance
        if line.tag == "Router", line.level == .info { agents[index].opened &+= 1 }
        return log(
            index, line.level, line.tag, text, url: url, isError: line.isError, ref: ref, at: now)
    }

    /// Some failure: most often of an agent that opens what is not there, so that a map that repairs it shows.
    mutating func failure(at now: Int64) -> [FleetStep] {
        let wanting = agents.indices.filter { agents[$0].fault == .notFound && agents[$0].isReachable }
        let isWanting = !wanting.isEmpty && Int.random(in: 0..<3, using: &chance) > 0
        guard let index = isWanting ? wanting.randomElement(using: &chance) : anyone() else { return [] }
        guard agents[index].fault == .notFound else {
            let fault = SimulatedTexts.faults[Int.random(in: SimulatedTexts.faults.indices, using: &chance)]
            if fault.url != nil { agents[index].unopened &+= 1 }
            return fail(index, fault.code, fault.detail, in: fault.origin, url: fault.url, at: now)
        }
        let url = SimulatedTexts.wrongURLs[Int(agents[index].variant) % SimulatedTexts.wrongURLs.count]
        let name = plan.name(index)
        let found = agents[index].maps.build.look(agents[index].maps, name) { $0.resolve(url) }
        let ref = Identifier.ulid(at: now, using: &chance)
        guard let error = found.error else {
            agents[index].opened &+= 1
            let opened = RouteURL.withoutValues(found.url)
            return log(index, .info, "Router", "opened \(opened)", url: opened, ref: ref, at: now)
        }
        agents[index].unopened &+= 1
        return fail(
            index, error.code, error.detail, in: .router, ref: ref, url: url, nearest: error.nearest, at: now)
    }

    /// Reports a failure, and the event that goes with it.
    mutating func fail(
        _ index: Int, _ code: Code, _ detail: String, in origin: FailureReport.Origin, ref: String? = nil,
        trace: String? = nil, url: String? = nil, nearest: [String] = [], at now: Int64
    ) -> [FleetStep] {
        var chance = agents[index].chance
        let clock = agents[index].clock(at: now)
        var report = FailureReport(
            id: Identifier.ulid(at: clock, using: &chance), code: code, origin: origin, ref: ref,
            trace: trace, url: url.map(redaction.masked), detail: redaction.masked(detail), nearest: nearest,
            at: clock)
        report.map = mapInForce(index)
        agents[index].chance = chance
        remember(report, of: index, in: \.failures)
        let topic = plan.topics.failures(of: plan.name(index))
        var properties = MQTTProperties()
        properties.contentType = "application/json"
        properties.payloadIsUTF8 = true
        let message = MQTTMessage(
            topic: topic, payload: report.encoded(), qos: .atLeastOnce, properties: properties)
        return [.publish(message, by: index)]
            + log(
                index, .error, origin.tag, "\(code): \(detail)", url: url, isError: true, ref: ref,
                trace: trace, at: now)
    }
}
