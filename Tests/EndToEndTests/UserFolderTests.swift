import CommandSupport
import Configuration
import Foundation
import MQTTLink
import TestSupport
import Testing
import WaypostAgent

@testable import WaypostCLI

/// Where data are kept never depends on where one stands.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct UserFolderTests {
    /// Every way in which a variable does not say where something is.
    static let unset: [String?] = [nil, "", ".", "relative", "./x", "~", "~/x"]

    private func environment(_ values: [String: String?]) -> [String: String] {
        values.compactMapValues(\.self)
    }

    @Test(arguments: unset, unset) func `a folder is absolute, or there is none`(home: String?, base: String?)
        throws
    {
        let state = UserFolder.state(environment(["HOME": home, "XDG_STATE_HOME": base]))
        let config = UserFolder.config(environment(["HOME": home, "XDG_CONFIG_HOME": base]))
        for folder in [state, config] { #expect(folder?.hasPrefix("/") != false, "\(folder ?? "")") }
        // The account that runs the tests has a home.
        if let entry = getpwuid(geteuid()),
            FileManager.default.fileExists(atPath: String(cString: entry.pointee.pw_dir))
        {
            #expect(state == String(cString: entry.pointee.pw_dir) + "/.local/state")
        }
        #expect(UserFolder.runtime(environment(["XDG_RUNTIME_DIR": base])) == nil)
    }

    @Test func `what a variable says goes before`() throws {
        let all = ["HOME": "/h", "XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "/c", "XDG_RUNTIME_DIR": "/r"]
        #expect(UserFolder.state(all) == "/s" && UserFolder.state(["HOME": "/h"]) == "/h/.local/state")
        #expect(UserFolder.config(all) == "/c" && UserFolder.config(["HOME": "/h"]) == "/h/.config")
        #expect(UserFolder.runtime(all) == "/r")
        func state(_ chosen: String?, _ environment: [String: String]) throws -> String {
            try StateDirectory.standard(agent: "k1", chosen: chosen, environment: environment)
        }
        #expect(try state(nil, all) == "/s/waypost/k1")
        #expect(try state(nil, ["STATE_DIRECTORY": "/var/lib/a:/var/lib/b"]) == "/var/lib/a")
        #expect(try state("/x", ["STATE_DIRECTORY": "/var/lib/a"]) == "/x")
        #expect(try state("x", [:]) == FileManager.default.currentDirectoryPath + "/x")
        let error = #expect(throws: CommandError.self) { try state(nil, ["STATE_DIRECTORY": "a"]) }
        #expect(try #require(error).exit == .usage && #require(error).description.contains("--state"))
    }

    @Test(arguments: unset) func `what lasts as long as a program is absolute too`(_ folder: String?) {
        #expect(UserFolder.temporary(environment(["TMPDIR": folder])) == "/tmp")
        #expect(UserFolder.temporary(["TMPDIR": "/t"]) == "/t")
    }

    // Its data were in a folder of the same name below `/`.
    @Test func `a path that begins in a folder that is gone begins nowhere`() async throws {
        for words in ["agent --agent k1 --state s --broker mqtt://127.0.0.1:1", "agents --config c.yaml"] {
            let ending = try await Tool.run(
                "bash",
                [
                    "-c",
                    "d=$(mktemp -d) && cd $d && rmdir $d && '\(CommandProcess.executable.path)' \(words) 2>&1; echo $?; ls -d /s 2>&1",
                ])
            let lines = ending.output.split(separator: "\n")
            #expect(lines.contains("64"), "\(ending.output)")
            #expect(ending.output.contains("No such file"), "\(ending.output)")
            #expect(!FileManager.default.fileExists(atPath: "/s"))
        }
    }

    @Test func `a folder that can't be made is named with what the system says`() async throws {
        let file = try ScratchFile("no folder")
        for (words, environment) in [
            (["agent", "--agent", "k1", "--state", file.path + "/below"], [:]),
            (["profile", "add", "p", "--broker", "mqtt://h"], ["XDG_CONFIG_HOME": file.path]),
        ] {
            let ending = try await RunningCommand.run(words, environment: environment)
            let line = ending.errorLines.last ?? ""
            #expect(
                ending.status == 1 && line.contains(file.path) && line.contains("Not a directory"),
                "\(ending)")
            for word in ["Error", "Optional", "Foundation", "NSPOSIX", "Code="] {
                #expect(!line.contains(word), "\(line)")
            }
        }
    }

    @Test func `paths in a file begin at the folder of the file`() async throws {
        let folder = NSTemporaryDirectory() + "waypost-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(UserFolder.make(folder + "/deep/er") == 0 && UserFolder.make(folder + "/deep") == 0)
        try Data("secret\n".utf8).write(to: URL(filePath: folder + "/password"))
        chmod(folder + "/password", 0o600)
        let yaml = """
            agent: k1
            username: ops
            password-file: password
            state: data
            routes: /etc/routes.json
            """
        let file = folder + "/agent.yaml"
        try yaml.write(toFile: file, atomically: true, encoding: .utf8)
        let settings = try await AgentSettings(Settings([:], file: file))
        #expect(settings.configuration.stateDirectory == folder + "/data")
        #expect(settings.configuration.link.credentials?.password == "secret")
        let values = try SettingsFile(
            Array("trust-key: [a.pub, x=b.pub, /c.pub, y=/d.pub]\nca-file: ca=1.pem\n".utf8), of: file
        )
        .values(as: .text)
        #expect(
            values[["trust-key"]]?.content
                == .stringArray(
                    ["\(folder)/a.pub", "x=\(folder)/b.pub", "/c.pub", "y=/d.pub"]))
        #expect(values[["ca-file"]]?.content == .string("\(folder)/ca=1.pem"))
    }
}
