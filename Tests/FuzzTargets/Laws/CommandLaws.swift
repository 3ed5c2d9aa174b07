import Waypost
import WaypostMessages

@testable import WaypostAgent

/// Payloads on `cmd`: the envelope, the id, the fields.
enum CommandLaws: Laws {
    private static let arrival: Int64 = 1_795_216_999_000
    private static let trusted = TrustedKeys(
        [(id: "release", key: VerifyingKey(bytes: Array(1...32)))], threshold: 1)

    static func read(_ bytes: [UInt8]) {
        guard let payload = try? CommandPayload(stored: bytes, limits: JSONLaws.wide) else { return }
        _ = try? Command.id(in: payload.json)
        do throws(Failure) {
            _ = try Command(id: "a", fields: payload.json, arrival: arrival).encoded()
        } catch {
            _ = Reply(id: "a", code: error.code, at: 1, detail: error.detail.cut(to: 2_048)).encoded()
        }
        _ = payload.json.serialized()
    }

    static func check(_ bytes: [UInt8]) throws(BrokenLaw) {
        let signed = try? CommandPayload(
            bytes, limits: .protocolDefaults, trusted: trusted, mustBeSigned: true, for: .agent("k1"),
            from: "ops", arrival: arrival)
        try BrokenLaw.unless(
            signed.map { $0.fault != nil } ?? true, "what no trusted key has signed is not accepted")
        guard let payload = try? CommandPayload(stored: bytes, limits: .protocolDefaults) else { return }
        try BrokenLaw.unless(
            (try? JSONValue(parsing: payload.json.serialized(), limits: .trustedFile)) == payload.json,
            "what is written is read as it was")
        let command = Result { () throws(Failure) in
            try Command(id: Command.id(in: payload.json), fields: payload.json, arrival: arrival)
        }
        switch command {
        case .success(let command): try checkWriting(command)
        case .failure(let rejection):
            let reply = Reply(id: "a", code: rejection.code, at: 1, detail: rejection.detail.cut(to: 2_048))
            let json = try? JSONValue(parsing: reply.encoded())
            try BrokenLaw.unless(
                json.flatMap { try? Reply($0) } == reply, "a refusal is read as it was written")
        }
    }

    private static func checkWriting(_ command: Command) throws(BrokenLaw) {
        try BrokenLaw.unless(Name.isValid(command.id), "an id is a name")
        try BrokenLaw.unless(command.expires <= arrival + Command.maximumLifetime, "a command expires")
        guard let json = try? JSONValue(parsing: command.encoded(), limits: .trustedFile),
            var again = try? Command(id: command.id, fields: json, arrival: arrival)
        else { throw BrokenLaw(law: "a command that was read can be written") }
        try BrokenLaw.unless(
            !again.warnings.contains { $0.hasPrefix("the field ") }, "what is written has no misspelt field")
        // Fields that are ignored are not written.
        again.warnings = command.warnings
        try BrokenLaw.unless(again == command, "a command is read as it was written")
        try BrokenLaw.unless(command.warnings.count <= Command.maximumWarnings, "there are few warnings")
    }
}
