import Testing
import Waypost

@testable import WaypostBackend
@testable import WaypostMessages

/// What is read and written of documents, each at its border and beside it.
@Suite struct DocumentBorderTests {
    @Test(arguments: [(8, true), (9, false)] as [(Int64, Bool)])
    func `a control document voids so many orders`(_ count: Int64, _ isRead: Bool) {
        var control = RolloutControl(
            id: "r-7", epoch: 1, sequence: 1, audience: "@all", at: 0, base: nil,
            next: .init(revision: 42, digest: "sha256:x"))
        control.voids = (0..<count).map { RolloutControl.Order(epoch: 9, sequence: $0) }
        let read = try? RolloutControl(control.encoded())
        #expect((read?.voids == control.voids) == isRead && (read != nil) == isRead)
    }

    @Test(arguments: [(16, true), (17, false)] as [(Int, Bool)])
    func `an envelope has so many signatures`(_ count: Int, _ isRead: Bool) {
        var envelope = SignedEnvelope(payloadType: SignedEnvelope.mapType, payload: [1])
        envelope.signatures = (0..<count).map { SignedEnvelope.Signature(keyID: "k\($0)", bytes: [2]) }
        let json = try? JSONValue(parsing: envelope.encoded())
        let read = json.flatMap { try? SignedEnvelope($0) }
        #expect((read != nil) == isRead)
    }

    @Test func `a program signs what it rolls out once, and leaves what others signed as it is`() throws {
        func key(_ byte: UInt8) throws -> SigningKey {
            try SigningKey(text: Base64.encode([UInt8](repeating: byte, count: 32)))
        }
        var settings = try BackendConfiguration(broker: "mqtt://127.0.0.1:1", name: "shop")
        let map = try Relocation.map([], revision: 3, by: "shop")
        #expect(try map.signedOnce(for: .group("lobby"), settings).payload == map.payload)
        settings.signer = Signer(id: "release", key: try key(7))
        let once = try map.signedOnce(for: .group("lobby"), settings)
        #expect(once.isSigned)
        settings.signer = Signer(id: "ops", key: try key(9))
        #expect(try once.signedOnce(for: .group("lobby"), settings).payload == once.payload)
        #expect(throws: BackendError.self) { try once.prepared(for: .group("lobby"), settings) }
    }

    @Test func `what is in force is cut only where it is too long, and what is left out is counted`() {
        var applied = AppliedMap()
        applied.inactive = (0..<9).map {
            RelocationReport.Inactive(layer: "@all", index: $0, reason: String(repeating: "x", count: 50))
        }
        let size = applied.encoded().count
        #expect(applied.cut(to: size) == applied)
        for limit in [size - 1, size / 2, 200] {
            let cut = applied.cut(to: limit)
            #expect(cut.omitted == 9 - cut.inactive.count && cut.omitted > 0, "\(limit)")
            #expect(cut.encoded().count <= limit)
        }
    }

    @Test(arguments: [(1_024, true), (1_025, false)] as [(Int, Bool)])
    func `a query goes to the agent up to its length`(_ length: Int, _ isSent: Bool) throws {
        let text = "tag:" + String(repeating: "x", count: length - 4)
        #expect(try LogQuery(text).textForAgent == (isSent ? text : ""))
    }

    @Test(arguments: [(999, true), (1_000, true), (1_001, false)] as [(Int64, Bool)])
    func `an event is young up to the age that is asked for`(_ age: Int64, _ holds: Bool) throws {
        let event = LogEvent(
            time: 5_000 - age, level: .info, tag: "t", boot: "B", sequence: 1, process: 1, thread: 1,
            message: "m")
        #expect(try LogQuery("age:1s").holds(for: event, of: "k1", code: nil, now: 5_000) == holds)
    }

    @Test(arguments: [("I", LogLevel.info), ("X", .warning), ("info", .warning)])
    func `an event of a level that is not known is not hidden`(_ letter: String, _ level: LogLevel) throws {
        let event = try LogEvent(["t": 1, "l": .string(letter), "tag": "t", "msg": "m"])
        #expect(event.level == level && event.letter == letter)
    }

    @Test func `an entry with a state of a newer agent has no effect that is known`() throws {
        let entry = try MapLayer.Entry(["n": 1, "state": "resting", "orginPath": "a://b"])
        #expect(entry.state == .inactive && entry.number == 1)
    }

    @Test func `more entries are not active than there are`() throws {
        for inactive in [-5, 0, 2, 9] as [Int64] {
            let summary = try MapSummary(["entries": 3, "inactive": .int(inactive)])
            #expect(summary.text.hasPrefix("\(max(0, 3 - max(0, inactive))) "), "\(summary.text)")
        }
    }
}
