import Foundation
import Testing
import Threading

@Suite("A callback")
struct CallbackTests {
    @Test func `is called directly, however often it was called before`() {
        let depth = Callback<Void, Int> { 0 }
        depth.set { Thread.callStackReturnAddresses.count }
        let first = depth()
        for _ in 0..<100 { _ = depth() }
        #expect(depth() == first)
        #expect(first > 0)
    }

    @Test func `can be set anew out of itself`() {
        let callback = Replaced()
        #expect(callback.callback(1) == "first 1")
        #expect(callback.callback(2) == "second 2")
    }

    private final class Replaced: Sendable {
        let callback = Callback<Int, String> { "unset \($0)" }

        init() {
            callback.set { [weak self] number in
                self?.callback.set { "second \($0)" }
                return "first \(number)"
            }
        }
    }
}
