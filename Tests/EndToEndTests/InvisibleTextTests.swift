import ArgumentParser
import CommandSupport
import Configuration
import MQTTLink
import TestSupport
import Testing
import WaypostAgent
import WaypostMessages

@testable import WaypostCLI

/// What editors and shells add to a text without showing it: it is cut, or named, and never makes another name of it.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct InvisibleTextTests {
    private func settings(_ options: WaypostCLI.Settings.Options) async throws -> AgentSettings {
        try await AgentSettings(Settings(["agent": .string("k1")].merging(options) { $1 ?? $0 }, file: nil))
    }

    private func fault(_ body: () async throws -> some Any) async -> String {
        do {
            return "no error: \(try await body())"
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: ["secret", "\u{FEFF}secret\n", "secret\r\n", "\u{FEFF}secret\r\nmore\r\n", " secret \n"])
    func `a password file may have a byte order mark and any end of line`(text: String) async throws {
        let file = try ScratchFile(text)
        let link = try await settings(["username": .string("ops"), "password-file": .string(file.path)])
            .configuration.link
        let expected = text.hasPrefix(" ") ? " secret " : "secret"
        #expect(link.credentials?.password == expected)
    }

    @Test func `a password file in another encoding, or with what can't be seen in it, is named`()
        async throws
    {
        let wide = try ScratchFile(bytes: [0xFF, 0xFE] + "secret\r\n".utf16.flatMap { [UInt8($0), 0] })
        let odd = try ScratchFile("sec\u{FEFF}ret\n")
        for (path, words) in [(wide.path, "is UTF-16 text"), (odd.path, "a byte order mark in it")] {
            let fault = await fault {
                try await settings(["username": .string("ops"), "password-file": .string(path)])
            }
            #expect(fault.contains(path) && fault.contains(words), "\(fault)")
            #expect(!fault.contains("sec"))
        }
    }

    @Test func `each setting that is a text refuses what can't be seen, by name`() async throws {
        let texts = AgentSetting.all.filter {
            switch $0.kind {
            case .text, .choice, .file, .directory, .list: true
            case .number, .integer, .flag: false
            }
        }
        let names = Set(texts.map(\.name)).union(["as"])
        #expect(names.count > 20)
        let required: WaypostCLI.Settings.Options = ["username": .string("ops")]
        for name in names.sorted() {
            for text in ["x\r", "\u{FEFF}x", " x", "x\u{A0}", "x\u{85}"] {
                let fault = await fault {
                    try await settings(required.merging([name: .string(text)]) { $1 })
                }
                #expect(fault.hasPrefix("\(name) "), "\(name): \(fault)")
                #expect(fault.contains("white space") || fault.contains("byte order mark"), "\(fault)")
            }
        }
        let fault = await fault {
            try await settings(required.merging(["password": .string("hunter2\r")]) { $1 })
        }
        #expect(fault.hasPrefix("password has a control character"), "\(fault)")
    }

    @Test func `a file of lines may have a byte order mark and any end of line`() throws {
        let file = try ScratchFile("\u{FEFF}one\r\n\u{FEFF}two\n")
        let lines = try #require(try LineReader(file.path, purpose: "cases file").next())
        #expect(lines.map { String(decoding: $0.bytes, as: UTF8.self) } == ["one", "\u{FEFF}two"])
    }

    @Test func `keys may have a byte order mark and any end of line`() throws {
        let key = SigningKeyText()
        let file = try ScratchFile("\u{FEFF}" + key.text.replacing("\n", with: "\r\n"))
        let read = try KeyFile(file.path).readSecret(purpose: "signing key")
        #expect(try SigningKey(text: read).verifyingKey == SigningKey(text: key.text).verifyingKey)
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n"
        #expect { try SigningKey(text: encrypted) } throws: { "\($0)".contains("the key is encrypted") }
    }

    private struct SigningKeyText {
        /// RFC 8410, 10.3: PKCS#8 of a key for Ed25519.
        let text = """
            -----BEGIN PRIVATE KEY-----
            MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
            -----END PRIVATE KEY-----

            """
    }

    @Test(arguments: ["v2.10", "latest", "2.4.1 (500)", "2,4", "2.", ".1"])
    func `a build that no condition can compare is named`(build: String) async throws {
        let fault = await fault { try await settings(["build": .string(build)]) }
        #expect(fault == "build \(build.debugDescription) must be a version like 2.4.1")
        let resolve = try await RunningCommand.run(["resolve", "a://x", "--build", build])
        #expect(resolve.status == 64)
        #expect(resolve.errorLines.joined().contains("must be a version like 2.4.1"))
    }

    @Test(arguments: [
        ("de", true), ("de-AT", true), ("de_AT.UTF-8", true), ("de_DE@euro", true), ("zh-Hans-CN", true),
        ("C", false), ("C.UTF-8", false), ("POSIX", false), ("d", false), ("de AT", false), ("de-", true),
        ("german/austria", false), (".UTF-8", false), ("de-österreich", false),
    ])
    func `a locale is a language as the system or the standard writes it, or it is named`(
        locale: String, isGood: Bool
    ) async throws {
        let fault = await fault { try await settings(["locale": .string(locale)]) }
        #expect(fault.hasPrefix("no error") == isGood, "\(fault)")
        #expect(isGood || fault.hasPrefix("locale \(locale.debugDescription) must be a language"), "\(fault)")
    }
}
