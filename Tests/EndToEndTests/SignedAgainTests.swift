import ArgumentParser
import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

@testable import WaypostCLI
@testable import WaypostMessages

/// Documents that a broker keeps, changed and signed again: what another wrote there must not come out signed.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct SignedAgainTests {
    /// How something is at the broker that nobody of the release role signed for this receiver.
    enum Forgery: CaseIterable {
        case unsigned
        /// By another key, under the name of the right one.
        case ofAnother
        /// Changed after it was signed.
        case changed
        /// Signed for another receiver, and copied.
        case forAnother
    }

    /// Keys that differ by one byte.
    private static func key(_ byte: UInt8) throws -> SigningKey { try SigningKey(text: text(byte)) }

    private static func text(_ byte: UInt8) -> String {
        Base64.encode([UInt8](repeating: byte, count: 32))
    }

    private static func signed(_ text: String, _ type: String, by byte: UInt8 = 7) throws -> SignedEnvelope {
        var envelope = SignedEnvelope(payloadType: type, payload: Array(text.utf8))
        #expect(envelope.sign(with: try key(byte), id: "release"))
        return envelope
    }

    /// A document with something of its own, as a client without the key can bring it to the topic.
    private static func forged(
        _ forgery: Forgery, _ type: String, for receiver: String, _ document: (_ audience: String) -> String
    ) throws -> [UInt8] {
        switch forgery {
        case .unsigned: Array(document(receiver).utf8)
        case .ofAnother: try signed(document(receiver), type, by: 9).encoded()
        case .changed:
            try {
                var envelope = try signed(document(receiver).replacing("evil", with: "good"), type)
                envelope.payload = Array(document(receiver).utf8)
                return envelope.encoded()
            }()
        case .forAnother:
            try signed(document(receiver.hasPrefix("@") ? "@hall" : "k8"), type).encoded()
        }
    }

    /// What was sent in a signed document that names this receiver.
    private static func signed(for receiver: String, _ backend: Backend) -> [String] {
        backend.seen.compactMap { message in
            guard let json = message.json, let envelope = try? SignedEnvelope(json) as SignedEnvelope,
                let good = try? key(7).verifyingKey,
                (try? TrustedKeys([("release", good)], threshold: 1).check(envelope)) != nil
            else { return nil }
            let text = String(decoding: envelope.payload, as: UTF8.self)
            return text.contains(#""aud":"\#(receiver)""#) ? text : nil
        }
    }

    @Test(arguments: Forgery.allCases)
    func `nothing that another left at the broker comes out signed, whatever verb signs`(_ forgery: Forgery)
        async throws
    {
        let secret = try ScratchFile(Self.text(7), name: "release.pem")
        let open = try ScratchFile(
            Base64.encode(Self.key(7).verifyingKey.bytes), name: "release.pub", mode: 0o644)
        let site = try await Site.open([
            "--demo", "--group", "lobby", "--trust-key", "release=\(open.path)",
        ])
        let rogue = try await Backend(broker: site.broker.url)
        func run(_ words: String) async throws -> (status: Int32, text: String) {
            let ending = try await RunningCommand.run(
                words.split(separator: " ").map(String.init) + ["--sign-key", "release=\(secret.path)"],
                environment: ["WAYPOST_BROKER": site.broker.url])
            return (ending.status, (ending.output + ending.errorLines).joined(separator: "\n"))
        }
        func map(_ revision: Int) throws -> ScratchFile {
            try ScratchFile(
                #"{"type":"map","rev":\#(revision),"entries":[{"routerType":3,"path":"scheme://router/demo\#(revision)"}]}"#,
                name: "map.json")
        }
        for revision in [1, 2] {
            let file = try map(revision)
            let sent = try await run(
                "relocate --group lobby --file \(file.path) --yes --allow-inactive --wait 30s")
            #expect(sent.status == 0, "\(sent)")
        }
        try await rogue.publish(
            Self.forged(forgery, SignedEnvelope.mapType, for: "@lobby") {
                #"{"type":"map","rev":7,"aud":"\#($0)","entries":[{"routerType":3,"path":"scheme://evil"}]}"#
            }, to: "waypost/v1/@lobby/map", retain: true)
        try await rogue.publish(
            Self.forged(forgery, SignedEnvelope.groupsType, for: "k9") {
                #"{"type":"groups","rev":7,"aud":"\#($0)","add":["evil"]}"#
            }, to: "waypost/v1/k9/groups", retain: true)
        let newer = try map(8)
        let whole = try map(30)
        // That of another receiver is no document of this one: it is as if there were none, but for its number.
        let isNone = forgery == .forAnother
        let refused = isNone ? "rev 3 is not newer than rev 7" : "must not sign again, 4"
        let steps: [(words: String, status: Int32, text: String)] = [
            (
                "groups --agent k9 --add eu --new-agent --wait 0s", isNone ? 0 : 1,
                isNone ? "added eu" : refused
            ),
            (
                "groups --agent k9 --remove shop --new-agent --wait 0s", isNone ? 0 : 1,
                isNone ? "removed shop" : "--clear"
            ),
            ("groups --agent k9 --clear --add eu --new-agent --wait 0s", 0, "added eu"),
            ("groups --agent k9 --add hall --new-agent --wait 0s", 0, "added eu, hall"),
            ("relocate --group lobby --delete scheme://router/demo3 --yes --wait 30s", 1, refused),
            (
                "relocate --group lobby --delete scheme://router/demo3 --dry-run", 1,
                isNone ? refused : "--file"
            ),
            (
                "rollout plan --group lobby --file \(newer.path) --stages 100% --allow-inactive", 0,
                "it can't be taken back: the map that the broker keeps must not be signed again by release"
            ),
            // It sends what the members have in force.
            ("map undo --group lobby --yes --wait 30s", 0, "the last one sent is not in force"),
            (
                "relocate --group lobby --delete scheme://router/demo3 --yes --allow-inactive --wait 30s", 0,
                "rev 9"
            ),
            ("relocate --group lobby --file \(whole.path) --yes --allow-inactive --wait 30s", 0, "rev 30"),
            (
                "relocate --agent k1 --delete scheme://router/demo4 --yes --allow-inactive --wait 30s", 0,
                "applied"
            ),
            ("map undo --agent k1 --yes --wait 30s", 0, "back to the map without the patch"),
        ]
        for step in steps {
            let run = try await run(step.words)
            #expect(run.status == step.status && run.text.contains(step.text), "\(step.words)\n\(run)")
        }
        for (receiver, count) in [("k9", 2), ("@lobby", 4), ("k1", 2)] {
            let documents = Self.signed(for: receiver, rogue)
            #expect(documents.count >= count, "\(receiver): \(documents)")
            #expect(!documents.contains { $0.contains("evil") }, "\(receiver): \(documents)")
        }
        await rogue.disconnect()
    }

    @Test func `a document of another key that is named is built on`() async throws {
        let old = try ScratchFile(Self.text(9), name: "old.pem")
        let new = try ScratchFile(Self.text(7), name: "new.pem")
        let open = try ScratchFile(
            Base64.encode(Self.key(9).verifyingKey.bytes), name: "old.pub", mode: 0o644)
        let broker = try await TestBroker.start()
        func run(_ options: String) async throws -> RunningCommand.Ending {
            try await RunningCommand.run(
                "groups --agent k9 --new-agent --wait 0s \(options)".split(separator: " ").map(String.init),
                environment: ["WAYPOST_BROKER": broker.url])
        }
        #expect(try await run("--add eu --sign-key old=\(old.path)").status == 0)
        let refused = try await run("--add hall --sign-key new=\(new.path)")
        #expect(
            refused.status == 1
                && refused.errorLines.joined().contains("found old (not trusted); trusted keys: new"),
            "\(refused)")
        let bare = try await run("--add hall --trust-key old=\(open.path)")
        #expect(bare.status == 64 && bare.errorLines.joined().contains("needs --sign-key"), "\(bare)")
        let built = try await run("--add hall --sign-key new=\(new.path) --trust-key old=\(open.path)")
        #expect(built.status == 0 && built.output.contains { $0.contains("added eu, hall") }, "\(built)")
    }

    @Test func `a number that leaves none for later ones is not counted on from`() async throws {
        let secret = try ScratchFile(Self.text(7), name: "release.pem")
        let broker = try await TestBroker.start()
        let rogue = try await Backend(broker: broker.url)
        for (revision, next) in [(Fields.largestInteger, 1), (1_000_001, 1), (1_000_000, 1_000_001)] {
            try await rogue.publish(
                #"{"type":"groups","rev":\#(revision),"aud":"k9","add":["evil"]}"#,
                to: "waypost/v1/k9/groups", retain: true)
            let changed = try await RunningCommand.run(
                [
                    "groups", "--agent", "k9", "--new-agent", "--wait", "0s", "--clear", "--add", "eu",
                    "--sign-key",
                ]
                    + [secret.path], environment: ["WAYPOST_BROKER": broker.url])
            #expect(changed.output.contains { $0.hasPrefix("rev \(next), ") }, "\(changed)")
        }
        await rogue.disconnect()
    }

    /// Who adds a verb that signs decides here what becomes of what it reads of the broker.
    @Test func `of the verbs that sign it is known which of them build on what a broker keeps`() {
        func verbs(_ group: Any.Type) -> Set<String> {
            var names: Set<String> = []
            for verb in Verbs.types {
                let options = Mirror(reflecting: verb.init()).children
                guard options.contains(where: { type(of: $0.value) == group }) else { continue }
                names.insert(verb.configuration.commandName ?? "")
            }
            return names
        }
        let building = verbs(OptionGroup<TrustOptions>.self)
        #expect(
            building == [
                "groups", "relocate", "plan", "start", "pause", "resume", "advance", "promote", "take-back",
            ])
        // What is undone comes from agents; the others send commands.
        #expect(
            verbs(OptionGroup<SignOptions>.self).subtracting(building) == [
                "undo", "broker", "call", "cancel", "diff", "explain", "failures", "history", "log",
                "navigate",
                "open", "pending", "ping", "resolve", "show",
            ])
    }
}
