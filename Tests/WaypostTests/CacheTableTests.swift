import FoundationEssentials
import Testing

@testable import Waypost

@Suite struct `Cache the last good table` {
    /// A folder of its own, taken away at the end.
    final class Folder {
        let path: String
        init() throws {
            path = NSTemporaryPath.make()
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    enum NSTemporaryPath {
        static func make() -> String { "/tmp/waypost-cache-\(UUID().uuidString)" }
    }

    let layer = RelocationLayer(
        name: "agent",
        entries: [
            RelocationEntry(
                .replace(origin: "scheme://router/demo", target: "scheme://router/demo1"), params: ["a": 1])
        ])

    @Test func `a restart has the last good map before the network is there`() async throws {
        let folder = try Folder()
        let cache = RouteCache(path: folder.path + "/table.json")
        let first = try recordingRouter(`Open a URL`.theRouter)
        #expect(cache.load(version: "1.0") == .missing)
        try first.relocate([layer])
        try first.save(to: cache, version: "1.0")
        let second = try recordingRouter(`Open a URL`.theRouter)
        guard case .restored(let contents) = second.restore(from: cache, version: "1.0") else {
            Issue.record("not restored")
            return
        }
        #expect(contents.layers == [layer])
        #expect(contents.routes == first.routes)
        #expect(await second.open("scheme://router/demo").route == "scheme://router/demo1")
        #expect(second.restore(from: cache, version: "2.0") == .otherVersion("1.0"))
    }

    @Test func `a damaged file is reported and changes nothing`() async throws {
        let folder = try Folder()
        let path = folder.path + "/table.json"
        let cache = RouteCache(path: path)
        let router = try recordingRouter(`Open a URL`.theRouter)
        try router.relocate([layer])
        try router.save(to: cache, version: "1.0")
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let torn = whole.prefix(whole.count / 2)
        var rotten = whole
        if let place = rotten.firstIndex(of: UInt8(ascii: "1")) { rotten[place] = UInt8(ascii: "2") }
        for data in [torn, rotten, Data(), Data("[]".utf8)] {
            try data.write(to: URL(fileURLWithPath: path))
            guard case .damaged = router.restore(from: cache, version: "1.0") else {
                Issue.record("not damaged")
                continue
            }
            #expect(await router.open("scheme://router/demo").route == "scheme://router/demo1")
        }
    }
}
