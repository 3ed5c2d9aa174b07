import Foundation
import Testing

@testable import WaypostAgent

@Suite struct `The lock of a state directory` {
    private let path = NSTemporaryDirectory() + "waypost-lock-\(UUID().uuidString)"

    // A second descriptor of the same open file is what a child has between its fork and its exec.
    @Test func `is free once it is released, also when a child still has its descriptor`() throws {
        defer { unlink(path) }
        let lock = try StateLock(path: path)
        let held = try #require(
            FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").lazy.compactMap { Int32($0) }
                .first {
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))
                        == path
                })
        let child = dup(held)
        defer { close(child) }
        #expect(throws: StoreError.self) { try StateLock(path: path) }
        lock.release()
        _ = try StateLock(path: path)
    }
}
