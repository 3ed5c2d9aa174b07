import ArgumentParser
import CommandSupport
import Configuration
import TestSupport
import Testing
import Waypost
import WaypostAgent

@testable import WaypostCLI

/// Every numeric setting follows from one table.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct AgentSettingTests {
    private func settings(_ options: Settings.Options, file: String? = nil) async throws -> AgentSettings {
        try await AgentSettings(Settings(["agent": .string("k1")].merging(options) { $1 ?? $0 }, file: file))
    }

    @Test func `each has an option, and the option's value arrives`() async throws {
        let arguments = AgentNumber.all.flatMap { ["--\($0.name)", "\($0.range.upperBound)"] }
        let given = try AgentNumberOptions.parse(arguments).given
        let configuration = try await settings(given).configuration
        for setting in AgentNumber.all {
            #expect(setting.get(configuration) == setting.range.upperBound, "\(setting.name)")
        }
    }

    @Test func `each may stand in the file, and the option goes before it`() async throws {
        let lines = AgentNumber.all.map { "\($0.name): \($0.range.lowerBound)\n" }
        let file = try ScratchFile(lines.joined(), name: "agent.yaml")
        let given: WaypostCLI.Settings.Options = ["dedupe-keys": .int(77)]
        let configuration = try await settings(given, file: file.path).configuration
        for setting in AgentNumber.all {
            let expected = setting.name == "dedupe-keys" ? 77 : setting.range.lowerBound
            #expect(setting.get(configuration) == expected, "\(setting.name)")
        }
    }

    @Test func `each default lies in its range, and each name is one of a setting`() async throws {
        let configuration = try await settings([:]).configuration
        for setting in AgentNumber.all {
            #expect(setting.range.contains(setting.standard), "\(setting.name)")
            #expect(setting.get(configuration) == setting.standard, "\(setting.name)")
            #expect(SettingNames.all.contains(setting.name))
        }
        #expect(Set(AgentNumber.all.map(\.name)).count == AgentNumber.all.count)
    }

    @Test func `what is out of range is refused with the range`() async throws {
        for setting in AgentNumber.all {
            for number in [setting.range.lowerBound - 1, setting.range.upperBound + 1] {
                let error = await #expect(throws: CommandError.self) {
                    _ = try await settings([setting.name: .int(number)])
                }
                #expect(error?.exit == .usage)
                #expect(
                    error?.description == "\(setting.name) must be \(setting.range.lowerBound) to "
                        + "\(setting.range.upperBound); found \(number)")
            }
        }
    }

    @Test func `the help names each with its default, its range and its unit`() async throws {
        let ending = try await RunningCommand.run(["help", "limits"], environment: ["COLUMNS": "1000"])
        #expect(ending.status == 0)
        let help = ending.output.joined(separator: "\n")
        for setting in AgentNumber.all {
            #expect(help.contains("--\(setting.name) <\(setting.unit)>"))
            #expect(
                help.contains(
                    "Default: \(setting.standard); \(setting.range.lowerBound) to \(setting.range.upperBound)"
                ),
                "\(setting.name)")
        }
    }

    @Test func `a number that is none is refused by name, on the command line and in the environment`()
        async throws
    {
        let option = try await RunningCommand.run(["agent", "--agent", "k1", "--log-ring", "many"])
        #expect(option.status == 64)
        #expect(option.errorLines.joined().contains("'--log-ring'"), "\(option.errorLines)")
        let variable = try await RunningCommand.run(
            ["agent", "--agent", "k1"], environment: ["WAYPOST_LOG_RING": "0"])
        #expect(variable.status == 64)
        #expect(variable.errorLines.joined().contains("log-ring must be 1 to"), "\(variable.errorLines)")
    }

    @Test func `keys to mask may be given several times`() async throws {
        let given = try AgentOptions.parse(["--redact-key", "cardNumber", "--redact-key", "iban"]).given
        #expect(try await settings(given).configuration.redactedKeys == ["cardNumber", "iban"])
    }

    @Test func `what conditions of maps ask is given by options, and a bad label is refused`() async throws {
        let given = try AgentOptions.parse([
            "--build", "2.4.1", "--locale", "de-AT", "--label", "region=eu", "--label", "tier=a=b",
        ]).given
        let client = try await settings(given).configuration.client
        #expect(
            client == ClientFacts(build: "2.4.1", locale: "de-AT", labels: ["region": "eu", "tier": "a=b"]))
        for labels in [["region"], ["=eu"], ["region="], ["a=1", "a=2"], ["region= eu"], ["region =eu"]] {
            let given = try AgentOptions.parse(labels.flatMap { ["--label", $0] }).given
            await #expect(throws: CommandError.self) { _ = try await settings(given) }
        }
    }
}
