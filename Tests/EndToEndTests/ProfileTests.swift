import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// Brokers under names: `waypost profile`.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
final class ProfileTests: Sendable {
    private let home = NSTemporaryDirectory() + "waypost-profiles-\(UUID().uuidString)"

    deinit { try? FileManager.default.removeItem(atPath: home) }

    private func run(_ arguments: String..., more: [String: String] = [:]) async throws
        -> RunningCommand.Ending
    {
        try await RunningCommand.run(
            arguments, environment: ["XDG_CONFIG_HOME": home].merging(more) { $1 })
    }

    @Test func `a profile is kept, used and removed, and only its user can read it`() async throws {
        let site = try await Site.open()
        #expect(try await run("profile", "list").output.isEmpty)
        let added = try await run(
            "profile", "add", "test", "--broker", site.broker.url, "--username", "ops", "--as", "it",
            "--password-file", "/dev/null")
        // A profile that could not be used is not written.
        #expect(added.status == 64)
        for name in ["test", "other"] {
            let ending = try await run("profile", "add", name, "--broker", site.broker.url, "--as", "it")
            #expect(ending.status == 0, "\(ending)")
        }
        let file = home + "/waypost/profiles/test.yaml"
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let url = site.broker.url
        #expect(try await run("profile", "list").output == ["  other  \(url)", "  test  \(url)"])
        #expect(try await run("profile", "show", "test").output.contains { $0.hasPrefix("broker: ") })

        // Named, by the environment, and in use.
        #expect(try await run("agents", "--names", "--profile", "test").output == ["k1"])
        #expect(try await run("agents", "--names", more: ["WAYPOST_PROFILE": "test"]).output == ["k1"])
        #expect(
            try await run("profile", "use", "test").output
                == ["commands that name no broker use profile test from now on: \(url)"])
        #expect(try await run("profile", "list").output == ["  other  \(url)", "* test  \(url)"])
        let ping = try await run("ping", "--agent", "k1", "--json")
        #expect(ping.status == 0)
        let doctor = try await run("doctor", "--agent", "k1")
        #expect(
            doctor.output.contains { $0.hasPrefix("ok ") && $0.hasSuffix(" profile      test") },
            "\(doctor.output)")

        let unknown = try await run("agents", "--profile", "tset")
        #expect(unknown.status == 64)
        #expect(unknown.errorLines.first?.contains("there is no profile tset; did you mean test?") == true)
        #expect(try await run("profile", "remove", "test").status == 0)
        #expect(try await run("profile", "list").output == ["  other  \(url)"])
        #expect(try await run("profile", "use", "test").status == 64)
    }

    @Test func `the note of the profile in use may be edited by hand, and one that names none is an error`()
        async throws
    {
        let site = try await Site.open()
        #expect(
            try await run("profile", "add", "test", "--broker", site.broker.url, "--as", "it").status == 0)
        let note = URL(fileURLWithPath: home + "/waypost/current-profile")
        for text in ["test", "test\r\n", "\u{FEFF}test\n"] {
            try Data(text.utf8).write(to: note)
            #expect(try await run("agents", "--names").output == ["k1"], "\(text.debugDescription)")
        }
        for text in ["", " test\n", "a/b\n"] {
            try Data(text.utf8).write(to: note)
            let ending = try await run("agents", "--names")
            #expect(ending.status == 64)
            #expect(ending.errorLines.joined().contains("current-profile names no profile"), "\(ending)")
        }
        #expect(try await run("profile", "use", "--none").status == 0)
        #expect(try await run("profile", "list").output == ["  test  \(site.broker.url)"])
    }

    @Test func `a broker that is named gets nothing of the profile in use`() async throws {
        let site = try await Site.open()
        let added = try await run(
            "profile", "add", "prod", "--broker", "mqtt://127.0.0.1:1", "--root", "elsewhere")
        #expect(added.status == 0)
        #expect(try await run("profile", "use", "prod").status == 0)
        #expect(try await run("agents", "--names", "--broker", site.broker.url).output == ["k1"])
        #expect(
            try await run("agents", "--names", more: ["WAYPOST_BROKER": site.broker.url]).output == ["k1"])
        // An option wins over a profile that is named, which gives the rest.
        let other = try await run("agents", "--profile", "prod", "--broker", site.broker.url)
        #expect(other.output.first?.contains("under elsewhere") == true)
        #expect(try await run("agents").status == 4)
        #expect(try await run("profile", "use", "--none").status == 0)
    }

    @Test(arguments: [
        ["profile", "add", "a b", "--broker", "mqtt://h"], ["profile", "add", "x"],
        ["profile", "add", "../x", "--broker", "mqtt://h"], ["profile", "add", "x", "--broker", "nonsense"],
        ["profile", "use"], ["profile", "show", "x"],
        ["profile", "add", "x", "--broker", "mqtt://h", "--as", "a/b"],
    ])
    func `wrong usage is refused, and nothing is written`(_ arguments: [String]) async throws {
        let ending = try await RunningCommand.run(arguments, environment: ["XDG_CONFIG_HOME": home])
        #expect(ending.status == 64, "\(ending)")
        #expect(!FileManager.default.fileExists(atPath: home))
    }
}
