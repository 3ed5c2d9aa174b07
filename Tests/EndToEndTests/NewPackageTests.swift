import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// What `waypost new` writes is whole or not there.
///
/// That it compiles and passes its test is scripts/check new.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
final class NewPackageTests {
    private let home = NSTemporaryDirectory() + "waypost-new-\(UUID().uuidString)"
    private let files = FileManager.default
    private static let address = "https://git.example/our/waypost.git"

    init() throws { try files.createDirectory(atPath: home, withIntermediateDirectories: true) }
    deinit { try? files.removeItem(atPath: home) }

    private func new(_ name: String, _ words: String...) async throws -> RunningCommand.Ending {
        try await RunningCommand.run(["new", name] + words)
    }

    /// The only line of a command that wrote nothing; the folder that it was to be in has nothing new.
    private func refusal(_ ending: RunningCommand.Ending, status: Int32) throws -> String {
        #expect(ending.status == status && ending.output.isEmpty, "\(ending)")
        #expect(try files.contentsOfDirectory(atPath: home).allSatisfy { !$0.contains("kiosk") })
        // Below what is wrong in a line is how to use it.
        #expect(status == 64 || ending.errorLines.count == 1, "\(ending)")
        return try #require(ending.errorLines.first)
    }

    @Test func `a package has its name throughout, and Waypost by its address`() async throws {
        let path = "\(home)/front-door"
        let ending = try await new("front-door", "--package", Self.address, "--output", path, "--json")
        #expect(ending.status == 0, "\(ending)")
        let said = try JSONValue(parsing: try #require(ending.output.first))
        #expect(said["folder"] == .string(path))
        let named = try #require(said["files"]?.arrayValue).compactMap(\.stringValue)
        let found = try files.subpathsOfDirectory(atPath: path).filter {
            var isFolder: ObjCBool = false
            return files.fileExists(atPath: "\(path)/\($0)", isDirectory: &isFolder) && !isFolder.boolValue
        }
        #expect(Set(named) == Set(found) && named.contains("Dockerfile") && named.contains("README.md"))
        #expect(try files.contentsOfDirectory(atPath: home) == ["front-door"])
        let manifest = try String(contentsOfFile: "\(path)/Package.swift", encoding: .utf8)
        #expect(manifest.contains(#".package(url: "https://git.example/our/waypost.git", from: ""#))
        #expect(manifest.contains(#".product(name: "WaypostAgent", package: "waypost")"#))
        #expect(manifest.contains(#"name: "FrontDoorFeatures""#))
        for file in named {
            let text = try String(contentsOfFile: "\(path)/\(file)", encoding: .utf8)
            #expect(
                !text.contains("\\(") || file.hasSuffix(".swift"), "\(file) has a gap that nothing filled")
            #expect(!text.isEmpty && !text.contains("kiosk"), "\(file)")
        }
    }

    @Test func `a folder is named by its whole path, and the image gets it too`() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
        let path = "\(home)/door"
        let ending = try await new("door", "--package", root.path, "-o", path)
        #expect(ending.output == ["\(path): 10 files; next: cd \(path) && swift test"], "\(ending)")
        let whole = root.resolvingSymlinksInPath().path
        let manifest = try String(contentsOfFile: "\(path)/Package.swift", encoding: .utf8)
        #expect(manifest.contains(#".package(name: "waypost", path: "\#(whole)")"#))
        let image = try String(contentsOfFile: "\(path)/Dockerfile", encoding: .utf8)
        #expect(image.contains(#"COPY --from=waypost [".","\#(whole)"]"#))
    }

    @Test(
        arguments: [
            "", "Kiosk", "7up", "my_kiosk", "a--b", "a-", "-a", "straße", "a/b", "..", "a b", "waypost",
            "waypost-console", "swift-log", "hummingbird", String(repeating: "a", count: 33),
        ])
    func `a name that can't be written everywhere is refused`(_ name: String) async throws {
        let ending = try await RunningCommand.run(
            ["new", "--package", Self.address, "--output", "\(home)/kiosk", "--", name])
        let line = try refusal(ending, status: 64)
        #expect(line.contains("the name "), "\(line)")
    }

    @Test(
        arguments: [
            ("/nowhere/waypost", "No such file or directory"), ("/tmp", "Waypost is not there"),
            ("https://git.example/way post.git", "is no address"),
            ("https://git.example/\"x\".git", "is no address"), ("", "No such file or directory"),
        ])
    func `what is not Waypost is refused`(_ package: String, _ text: String) async throws {
        let ending = try await new("kiosk", "--package", package, "--output", "\(home)/kiosk")
        #expect(try refusal(ending, status: 64).contains(text))
    }

    @Test func `what is there already stays as it is`() async throws {
        let path = "\(home)/there"
        let beginnings: [() throws -> Void] = [
            { try Data("mine".utf8).write(to: URL(filePath: path)) },
            {
                try self.files.createDirectory(atPath: path, withIntermediateDirectories: true)
                try Data("mine".utf8).write(to: URL(filePath: path + "/README.md"))
            },
            { try self.files.createSymbolicLink(atPath: path, withDestinationPath: "/nowhere") },
        ]
        for begin in beginnings {
            try begin()
            let before = try files.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
            let ending = try await new("kiosk", "--package", Self.address, "--output", path)
            #expect(
                try refusal(ending, status: 1)
                    == "waypost: error: make \(path): it is there already, and is left as it is")
            #expect(try files.attributesOfItem(atPath: path)[.systemFileNumber] as? Int == before)
            try files.removeItem(atPath: path)
        }
    }

    @Test func `a folder that can't be made is one sentence`() async throws {
        let path = "\(home)/none/kiosk"
        let ending = try await new("kiosk", "--package", Self.address, "--output", path)
        #expect(
            try refusal(ending, status: 1) == "waypost: error: make \(path): No such file or directory")
    }

    @Test(.enabled(if: Sanitizer.isAbsent, "its own files may not grow either"))
    func `where a file can't be written to its end nothing is left`() async throws {
        let path = "\(home)/kiosk"
        // In blocks of 1 KiB: what the system does when a file may not grow further, as on a full disk.
        let ending = try await CommandProcess.run(
            ["new", "kiosk", "--package", Self.address, "--output", path],
            through: #"ulimit -f 1; exec "$0" "$@""#)
        let line = try refusal(ending, status: 1)
        #expect(line.hasPrefix("waypost: error: write \(path)/") && line.hasSuffix(": File too large"))
        #expect(try files.contentsOfDirectory(atPath: home).isEmpty)
    }
}
