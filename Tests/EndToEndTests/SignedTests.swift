import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// Maps and commands that are signed with keys as OpenSSL makes them, by the executable from end to end.
@Suite(.aFewAtATime, .serialized, .timeLimit(.minutes(60))) final class SignedTests {
    private let directory = NSTemporaryDirectory() + "waypost-signed-\(UUID().uuidString)"

    init() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// A private key and its public half, as files.
    private func key(_ name: String) async throws -> (secret: String, open: String) {
        let files = ("\(directory)/\(name).pem", "\(directory)/\(name).pub")
        #expect(
            try await Tool.run("openssl", ["genpkey", "-algorithm", "ed25519", "-out", files.0]).status == 0)
        #expect(
            try await Tool.run("openssl", ["pkey", "-in", files.0, "-pubout", "-out", files.1]).status == 0)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: files.0)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: files.1)
        return files
    }

    private func run(_ broker: TestBroker, _ arguments: String...) async throws -> RunningCommand.Ending {
        try await RunningCommand.run(
            arguments + ["--agent", "k1", "--wait", "30s"], environment: ["WAYPOST_BROKER": broker.url])
    }

    @Test func `a map signed by a trusted key is applied, and another is not`() async throws {
        let broker = try await TestBroker.start()
        let (release, unknown) = (try await key("release"), try await key("unknown"))
        let agent = try RunningAgent(
            "k1", broker: broker.url, arguments: ["--demo", "--trust-key", "release=\(release.open)"])
        try await agent.online()
        let move = ["relocate", "--from", "scheme://router/demo", "--to", "scheme://router/demo1"]
        for (options, word) in [
            ([], "UNSIGNED"), (["--sign-key", unknown.secret], "BAD_SIGNATURE"),
            (["--sign-key", release.secret], "applied"),
        ] {
            let ending = try await RunningCommand.run(
                move + options + ["--agent", "k1", "--wait", "30s"],
                environment: ["WAYPOST_BROKER": broker.url])
            #expect(ending.status == (word == "applied" ? 0 : 1))
            #expect(ending.output.first?.contains(word) == true, "\(ending.output)")
        }
        // Commands need no signature here.
        #expect(try await run(broker, "open", "scheme://router/demo").status == 0)
        #expect(try await agent.terminate() == 0)
    }

    @Test func `a signed patch builds on what the agent has, and one that builds on less is refused`()
        async throws
    {
        let broker = try await TestBroker.start()
        let release = try await key("release")
        let agent = try RunningAgent(
            "k1", broker: broker.url, arguments: ["--demo", "--trust-key", "release=\(release.open)"])
        try await agent.online()
        let map = try ScratchFile(#"{"type":"map","rev":5,"entries":[]}"#, name: "map.json")
        let steps: [(arguments: [String], word: String)] = [
            (["--file", map.path], "map rev 5"),
            (["--from", "scheme://router/demo", "--to", "scheme://router/demo1"], "patch rev 6"),
            (["--from", "scheme://router/demo", "--to", "scheme://router/demo2"], "patch rev 7"),
            (["--reset", "scheme://router/demo", "--base", "5", "--rev", "8"], "ROLLBACK"),
            (["--reset", "scheme://router/demo", "--base", "7", "--rev", "8"], "patch rev 8"),
        ]
        for (arguments, word) in steps {
            let ending = try await RunningCommand.run(
                ["relocate", "--agent", "k1", "--wait", "30s", "--sign-key", release.secret] + arguments,
                environment: ["WAYPOST_BROKER": broker.url])
            #expect(ending.output.first?.contains(word) == true, "\(ending.output) \(ending.errorLines)")
        }
        #expect(try await agent.terminate() == 0)
    }

    @Test func `a revision that leaves none for later patches is not signed unasked`() async throws {
        let broker = try await TestBroker.start()
        let release = try await key("release")
        let rogue = try await Backend(broker: broker.url)
        for next in [
            #"{"base":5,"rev":9007199254740991}"#,
            #"{"base":-9223372036854775808,"rev":9223372036854775807}"#,
            #"{"base":9,"rev":9}"#,
        ] {
            try await rogue.publish(
                #"{"layers":[],"entries":0,"inactive":[],"refused":null,"nextPatch":\#(next)}"#,
                to: "waypost/v1/k9/map/applied", retain: true)
            let ending = try await RunningCommand.run(
                [
                    "relocate", "--agent", "k9", "--reset", "scheme://a", "--sign-key", release.secret,
                    "--new-agent",
                ],
                environment: ["WAYPOST_BROKER": broker.url])
            #expect(ending.status == 1)
            #expect(ending.errorLines.first?.contains("--base and --rev") == true, "\(ending.errorLines)")
        }
        #expect(!rogue.seen.contains { $0.topic.hasSuffix("/map/patch") })
        await rogue.disconnect()
    }

    @Test func `a map is signed without a broker, verified, and applied as it is`() async throws {
        let (release, ops) = (try await key("release"), try await key("ops"))
        let map = try ScratchFile(
            #"{"type":"map","rev":5,"entries":[{"routerType":3,"path":"scheme://router/demo2"}]}"#,
            name: "map.json")
        let (once, twice) = ("\(directory)/once.json", "\(directory)/twice.json")
        let nobody = try await RunningCommand.run(["map", "sign", map.path, "--key", release.secret])
        #expect(nobody.status == 1)
        #expect(nobody.errorLines.first?.contains("aud is missing: name the agent or the group") == true)
        let signed = try await RunningCommand.run(
            ["map", "sign", map.path, "--key", release.secret, "--agent", "k1", "-o", once])
        #expect(signed.output == ["signed: \(once): map rev 5 for k1, 1 entry, by release"])
        let again = try await RunningCommand.run(["map", "sign", once, "--key", ops.secret, "-o", twice])
        #expect(again.status == 0, "\(again.errorLines)")
        let both = ["--key", release.open, "--key", ops.open, "--threshold", "2"]
        let good = try await RunningCommand.run(["map", "verify", twice] + both)
        #expect(good.output == ["valid: map rev 5 for k1, 1 entry, signed by release, ops"])
        let bad = try await RunningCommand.run(["map", "verify", once] + both)
        #expect(bad.status == 1)
        #expect(
            bad.errorLines.first?.hasSuffix(
                "401 BAD_SIGNATURE: 1 of 2 required signatures are valid; found release (valid); "
                    + "trusted keys: release, ops") == true, "\(bad.errorLines)")
        let bare = try await RunningCommand.run(["map", "verify", map.path, "--key", release.open])
        #expect(bare.errorLines.first?.contains("401 UNSIGNED") == true)

        let broker = try await TestBroker.start()
        let agent = try RunningAgent(
            "k1", broker: broker.url,
            arguments: [
                "--demo", "--trust-key", release.open, "--trust-key", ops.open, "--trust-threshold", "2",
            ])
        try await agent.online()
        for (file, word) in [(once, "found release (valid)"), (twice, "applied")] {
            let ending = try await run(broker, "relocate", "--yes", "--allow-older", "--file", file)
            #expect(ending.output.first?.contains(word) == true, "\(ending.output) \(ending.errorLines)")
        }
        #expect(try await agent.terminate() == 0)
    }

    @Test func `a signature that is not trusted is told from one that does not fit`() async throws {
        let (release, other) = (try await key("release"), try await key("other"))
        let map = try ScratchFile(#"{"type":"map","rev":5,"aud":"k1","entries":[]}"#, name: "map.json")
        for (key, found) in [
            ("temp=\(release.secret)", "temp (not trusted)"),
            (
                "release=\(other.secret)",
                "release (not valid: another key has this id, or the document was changed)"
            ),
        ] {
            let signed = try await RunningCommand.run(["map", "sign", map.path, "--key", key])
            let file = try ScratchFile(signed.output.joined(), name: "signed.json")
            let ending = try await RunningCommand.run(["map", "verify", file.path, "--key", release.open])
            #expect(ending.status == 1)
            #expect(
                ending.errorLines.first?.contains("found \(found); trusted keys: release") == true,
                "\(ending.errorLines)")
        }
    }

    @Test func `a public key given as a private one is called that, and the other way round`() async throws {
        let key = try await key("release")
        let map = try ScratchFile(#"{"type":"map","rev":5,"aud":"k1","entries":[]}"#, name: "map.json")
        let signed = try await RunningCommand.run(["map", "sign", map.path, "--key", key.open])
        #expect(signed.status == 64)
        #expect(signed.errorLines.first?.contains("release.pub: this is a public key") == true)
        let sent = try await RunningCommand.run(
            [
                "relocate", "--agent", "k1", "--file", map.path, "--sign-key", key.open, "--broker",
                "mqtt://[::1]:1",
            ])
        #expect(sent.errorLines.first?.contains("release.pub: this is a public key") == true)
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: key.secret)
        for arguments in [["map", "verify", map.path, "--key"], ["agent", "--agent", "k1", "--trust-key"]] {
            let ending = try await RunningCommand.run(arguments + [key.secret])
            #expect(ending.status == 64)
            #expect(
                ending.errorLines.first?.contains("release.pem: this is a private key") == true,
                "\(ending.errorLines)")
        }
    }

    @Test func `commands must be signed where that is configured`() async throws {
        let broker = try await TestBroker.start()
        let (ops, unknown) = (try await key("ops"), try await key("unknown"))
        let agent = try RunningAgent(
            "k1", broker: broker.url, arguments: ["--demo", "--trust-key", ops.open, "--signed-commands"])
        try await agent.online()
        let plain = try await run(broker, "open", "scheme://router/demo")
        #expect(plain.status == 1)
        #expect(plain.output.first?.contains("UNSIGNED") == true)
        let forged = try await run(broker, "open", "scheme://router/demo", "--sign-key", unknown.secret)
        #expect(forged.output.first?.contains("BAD_SIGNATURE") == true)
        let good = try await run(
            broker, "call", "CalculatorService", "add", "--args", "[2,40]", "--sign-key", ops.secret)
        #expect(good.status == 0)
        #expect(good.output.contains { $0.contains("42") })
        #expect(try await agent.terminate() == 0)
    }

    @Test func `a private key that everybody can read is refused`() async throws {
        let key = try await key("loose")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key.secret)
        let ending = try await RunningCommand.run([
            "open", "scheme://a", "--agent", "k1", "--sign-key", key.secret,
        ])
        #expect(ending.status == 64)
        #expect(ending.errorLines.first?.contains("chmod") == true)
    }

    @Test(
        arguments: [
            ["--trust-key", "/nonexistent"], ["--signed-commands"],
            ["--trust-key", "/etc/hostname"],
        ])
    func `trust that can't be is refused at the start`(_ arguments: [String]) async throws {
        let ending = try await RunningCommand.run(["agent", "--agent", "k1"] + arguments)
        #expect(ending.status == 64)
    }
}
