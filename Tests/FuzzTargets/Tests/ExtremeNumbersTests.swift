import Foundation
import MQTTLink
import Testing
import Waypost

@testable import WaypostConsole
@testable import WaypostMessages

/// No number that comes from outside ends a program: two failure reports with a count of 2^63 - 1 ended the console.
@Suite struct `Extreme numbers` {
    @Test(arguments: ExtremeNumbers.documents.indices)
    func `of a message end neither the console nor a command`(_ index: Int) async throws {
        let (topic, json) = ExtremeNumbers.documents[index]
        let kind = UInt8(
            try #require(
                ["state", "health", "map/applied", "log/i", "fail", "reply/me"].firstIndex {
                    topic.hasPrefix($0.prefix(3))
                }))
        var console = ConsoleLaws.Console()
        let variants = ExtremeNumbers.variants(of: json).map { $0.serialized() }
        for start in stride(from: 0, to: variants.count, by: 4) {
            // Other tests share the thread.
            await Task.yield()
            let few = variants[start..<min(start + 4, variants.count)]
            for bytes in few {
                console.see(
                    MQTTMessage(
                        topic: "waypost/v1/k1/\(topic)", payload: bytes, retain: start / 4 % 2 == 0))
            }
            // Each of them twice in a row, as a broker sends it that was not answered in time.
            var input: [UInt8] = []
            for bytes in few { for _ in 0..<2 { input += [kind, 1] + bytes + [0x1E] } }
            #expect(throws: Never.self, "\(few.map { String(decoding: $0, as: UTF8.self) })") {
                try OperatorLaws.check(input)
            }
            if start % 40 == 0 { #expect(throws: Never.self) { try ConsoleLaws.check(console.state) } }
        }
        #expect(throws: Never.self) { try ConsoleLaws.check(console.state) }
    }

    @Test(arguments: RolloutLaws.documents.indices)
    func `of a document neither end a controller nor the keeper of maps, and steer only where they may`(
        _ index: Int
    ) async throws {
        let document = RolloutLaws.documents[index]
        let json = try JSONValue(parsing: Array(document.dropFirst(2)))
        for variant in ExtremeNumbers.variants(of: json) {
            await Task.yield()
            // Each comes twice in a row; and once more with another connection in between, as of an agent that is none
            // of the group.
            let bytes = document.prefix(2) + variant.serialized()
            let again = [document[0], document[1] | 0x41] + bytes.dropFirst(2)
            #expect(throws: Never.self, "\(String(decoding: bytes, as: UTF8.self))") {
                try RolloutLaws.check(bytes + [0x1E] + again)
            }
        }
    }

    /// Each payload that is read with ``PayloadFields``.
    private static let payloads: [any Payload.Type] = [
        AgentState.self, AgentState.Cause.self, AppliedMap.self, AppliedMap.Layer.self,
        AppliedMap.NextPatch.self, AppliedMap.Refused.self, FailureReport.self,
        FailureReport.MapInForce.self, FailureRequest.self, GroupsDocument.self, MapLayer.self,
        MapLayer.Entry.self,
        MapRevision.self, MapRevision.Changes.self, MapsRequest.self, MapSummary.self,
        RelocationReport.Conditional.self, RelocationReport.Inactive.self, Replay.self, Replay.Place.self,
        ResolvedURL.self, ResolvedURL.Acting.self, ResolvedURL.Hop.self, RolloutReport.self,
        SaidGroups.self, SaidGroups.Refused.self,
    ]

    @Test(arguments: payloads.indices)
    func `in any field of a payload are refused, or lie where sums of them fit`(_ index: Int) throws {
        let type = Self.payloads[index]
        for name in type.fieldNames {
            for number in ExtremeNumbers.numbers {
                guard var members = Self.blank(type).objectValue else { continue }
                members[name] = number
                guard let payload = try? type.init(.object(members)) else { continue }
                let written = try JSONValue(parsing: payload.encoded(), limits: .trustedFile)
                #expect(
                    Self.largest(of: written) <= Fields.largestInteger.magnitude, "\(type) \(name): \(number)"
                )
            }
        }
    }

    private static func blank<Of: Payload>(_ type: Of.Type) -> JSONValue { Of().json }

    private static func largest(of json: JSONValue) -> UInt64 {
        switch json {
        case .int(let number): number.magnitude
        case .array(let elements): elements.map(largest).max() ?? 0
        case .object(let members): members.values.map(largest).max() ?? 0
        case .null, .bool, .double, .string: 0
        }
    }

    /// Those of roll-outs are read by their own tests.
    @Test func `are tried in each payload that there is`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../Sources/WaypostMessages")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files
        where file.pathExtension == "swift" && !file.path.contains("/Rollout/") {
            let text = try String(contentsOf: file, encoding: .utf8)
            count += text.matches(of: /(struct|extension) [A-Za-z.]+: Payload\b/).count
        }
        // The reason of a URL that leads nowhere is private; it is read with its URL.
        #expect(count - 1 == Self.payloads.count - 1, "a payload is missing in this list")
    }
}
