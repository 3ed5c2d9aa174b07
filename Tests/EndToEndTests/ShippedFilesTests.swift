import Foundation
import TestSupport
import Testing
import Waypost

/// The scripts that make a release.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct ShippedFilesTests {
    private func release(_ arguments: String...) async throws -> Tool.Ending {
        try await Tool.run(
            "bash",
            ["-c", #""$0" "$@" 2>&1"#, "\(ShippedBroker.repository)/scripts/release"] + arguments)
    }

    @Test func `the list of what a build contains names its packages, its libraries and their versions`()
        async throws
    {
        let path = NSTemporaryDirectory() + "waypost-sbom-\(UUID().uuidString).json"
        defer { unlink(path) }
        let made = try await release("sbom", "--binary", CommandProcess.executable.path, "--out", path)
        #expect(made.status == 0, "\(made)")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let json = try JSONValue(parsing: Array(text.utf8), limits: .trustedFile)
        #expect(json["bomFormat"] == "CycloneDX" && json["specVersion"] == "1.5")
        let components = json["components"]?.arrayValue ?? []
        let names = Set(components.compactMap { $0["name"]?.stringValue })
        #expect(
            names.isSuperset(of: ["swift-argument-parser", "swift-configuration", "swift-runtime"]),
            "\(names)")
        #expect(
            names.isSuperset(of: ["libmosquitto1", "libsqlite3-0", "libyaml-0-2", "zlib1g", "libc6"]),
            "\(names)")
        #expect(components.allSatisfy { $0["version"]?.stringValue?.isEmpty == false })
        #expect(try await release("sbom", "--check", path).status == 0)
        for (found, wrong) in [
            ("\"specVersion\": \"1.5\"", "\"specVersion\": 1.5"), ("\"deb:libc6\"", "\"deb:other\""),
            ("\"components\"", "\"parts\""),
        ] {
            let damaged = text.replacing(found, with: wrong, maxReplacements: 1)
            try damaged.write(toFile: path, atomically: true, encoding: .utf8)
            #expect(try await release("sbom", "--check", path).status == 1, "\(wrong)")
        }
    }

    @Test func `a release is built from digests and not from tags`() async throws {
        let digest = "sha256:" + String(repeating: "0", count: 64)
        for (images, finding) in [
            ("", "is missing"),
            ("WAYPOST_SWIFT_IMAGE=swift:6.3-bookworm\n", "not named by its digest"),
            ("WAYPOST_SWIFT_IMAGE=swift@sha256:12\n", "not named by its digest"),
            ("WAYPOST_SWIFT_IMAGE=swift@\(digest)\n", "WAYPOST_RUNTIME_IMAGE is missing"),
        ] {
            let file = try ScratchFile(images, name: "images")
            let ending = try await release("image", "--tag", "waypost:test", "--images", file.path)
            #expect(ending.status == 1)
            #expect(ending.output.contains(finding), "\(ending)")
        }
    }
}
