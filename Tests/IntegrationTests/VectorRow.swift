import Foundation
import TestSupport
import Testing
import Waypost

/// One row of the table.
struct VectorRow: Sendable {
    private struct Sent: Sendable {
        var topic: String
        var payload: String
        var isRetained: Bool
        /// Whether the terminal reply to the row's id is waited for before this is sent.
        var follows: Bool
        /// What must have come before this is sent.
        var after: Expected?
    }

    struct Expected: Sendable {
        var topic: String
        var match: JSONValue
        var text: String?
    }

    let name: String
    private let id: String
    let isEarly: Bool
    /// What must be so for it, by name; see `Circumstance`.
    let circumstance: String?
    private var sent: [Sent] = []
    private var expected: [Expected] = []
    private var never: [Expected] = []

    /// The rows of a file in `Vectors`.
    static func read(_ file: String) throws -> [VectorRow] {
        try self.file(file).split(separator: "\n").enumerated()
            .map { number, line in
                try VectorRow(JSONValue(parsing: Array(line.utf8), limits: .trustedFile), number)
            }
    }

    /// The text of a file in `Vectors`.
    static func file(_ name: String) throws -> String {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        return try String(contentsOf: folder.appendingPathComponent("Vectors/\(name)"), encoding: .utf8)
    }

    init(_ json: JSONValue, _ number: Int) throws {
        name = try #require(json["name"]?.stringValue)
        isEarly = json["early"] == true
        circumstance = json["given"]?.stringValue
        let id = "v\(number)"
        self.id = id
        func filled(_ text: String) -> String {
            text.replacingOccurrences(of: "$ID", with: id).replacingOccurrences(of: "$N", with: "\(number)")
        }
        func expected(_ entry: JSONValue) throws -> Expected {
            Expected(
                topic: "waypost/v1/\(entry["agent"]?.stringValue ?? "k1")/\(entry["on"]?.stringValue ?? "")",
                match: try JSONValue(
                    parsing: Array(filled((entry["match"] ?? [:]).text).utf8), limits: .trustedFile),
                text: entry["text"]?.stringValue)
        }
        for send in json["send"]?.arrayValue ?? [] {
            let topic =
                switch send["to"]?.stringValue {
                case "cmd": "waypost/v1/k1/cmd/\(send["from"]?.stringValue ?? "me")"
                case "raw": send["topic"]?.stringValue ?? ""
                case let rest: "waypost/v1/k1/\(rest ?? "")"
                }
            sent.append(
                Sent(
                    topic: topic, payload: filled(send["payload"]?.stringValue ?? ""),
                    isRetained: send["retain"] == true,
                    follows: send["follows"] == true, after: try send["after"].map(expected)))
        }
        func list(_ key: String) throws -> [Expected] {
            try (json[key]?.arrayValue ?? []).map(expected)
        }
        self.expected = try list("expect")
        never = try list("never")
    }

    func send(_ backend: Backend, retained: Bool = false) async throws {
        for message in sent {
            if message.follows { _ = try await backend.reply(to: id, of: "k1") }
            if let after = message.after {
                try await backend.wait(for: after.topic, within: Patience.usual) { seen in
                    seen.contains { after.isMet(by: $0) }
                }
            }
            let soon = Int64(Date().timeIntervalSince1970 * 1_000) + 2_000
            let payload = message.payload.replacingOccurrences(of: "$SOON", with: "\(soon)")
            try await backend.publish(payload, to: message.topic, retain: retained || message.isRetained)
        }
    }

    /// Waits for everything that is expected; what does not come is an issue with what came instead.
    func check(
        _ backend: Backend, after count: Int, _ version: String, within quiet: Duration = Patience.usual
    ) async {
        for wanted in expected {
            do {
                try await backend.wait(for: wanted.topic, within: quiet) { seen in
                    seen.dropFirst(count).contains { wanted.isMet(by: $0) }
                }
            } catch {
                let came = backend.seen.dropFirst(count).filter { $0.topic.hasPrefix(wanted.topic) }
                    .map { "\n    " + $0.text.prefix(400) }.joined()
                Issue.record(
                    "MQTT \(version), \(name): \(wanted.match.text) did not come; on \(wanted.topic) came:\(came)"
                )
            }
        }
        if !never.isEmpty { await waitUntilAllIsPublished(backend, version) }
        for unwanted in never {
            let found = backend.seen.dropFirst(count).contains {
                $0.topic.hasPrefix(unwanted.topic) && $0.text.contains(unwanted.text ?? "")
            }
            #expect(!found, "MQTT \(version), \(name): \(unwanted.text ?? "") is on \(unwanted.topic)")
        }
    }
}

extension VectorRow {
    /// Runs one more command: when its event has come, all events and reports of the row have.
    private func waitUntilAllIsPublished(_ backend: Backend, _ version: String) async {
        let last = "\(id)-end"
        do {
            _ = try await backend.command(
                #"{"id":"\#(last)","type":"open","url":"scheme://router/demo"}"#, to: "k1")
            _ = try await backend.event(of: "k1") { $0["ref"] == .string(last) }
        } catch {
            Issue.record("MQTT \(version), \(name): \(error)")
        }
    }
}

extension VectorRow.Expected {
    fileprivate func isMet(by seen: Backend.Seen) -> Bool {
        // Events come in lines, on a topic a level.
        if topic.hasSuffix("/log") {
            return seen.topic.hasPrefix(topic + "/") && seen.lines.contains { Self.fits($0, match) }
        }
        return seen.topic == topic && seen.json.map { Self.fits($0, match) } ?? false
    }

    /// Whether everything that is wanted is there: members of objects, elements of lists in order, `~text` within a
    /// text, `$LIST` for a list that is not empty.
    private static func fits(_ found: JSONValue, _ wanted: JSONValue) -> Bool {
        switch wanted {
        case .object(let members):
            return members.allSatisfy { key, value in
                found[key].map { fits($0, value) } ?? value.isNull
            }
        case .array(let elements):
            guard let list = found.arrayValue, list.count == elements.count else { return false }
            return zip(list, elements).allSatisfy { fits($0, $1) }
        case .string("$LIST"): return found.arrayValue?.isEmpty == false
        case .string(let text) where text.hasPrefix("~"):
            let part = text.dropFirst()
            return found.stringValue.map { part.isEmpty || $0.contains(part) } ?? false
        default: return found == wanted
        }
    }
}
