import Glibc
import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Deadlines` {
    @Test func `a handler that does not wait runs on the thread of its caller`() async throws {
        let router = Router()
        let inside = Guarded<pthread_t?>(nil)
        try router.register("a://x") { _ in
            inside.withLock { $0 = pthread_self() }
            return .opened()
        }
        let before = pthread_self()
        #expect(await router.open("a://x").isSuccess)
        #expect(inside.withLock { $0 } == before)
    }

    @Test func `what is cancelled before it begins does not run`() async throws {
        let router = Router()
        let runs = Guarded(0)
        try router.register("a://x") { _ in
            runs.withLock { $0 += 1 }
            return .opened()
        }
        let open = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await router.open("a://x")
        }
        #expect(await open.value.code == .canceled)
        #expect(runs.withLock { $0 } == 0)
    }

    @Test func `at its deadline a handler that waits is cancelled`() async throws {
        let router = Router(configuration: RouterConfiguration(handlerDeadline: .milliseconds(5)))
        let ended = Race<Bool>()
        try router.register("a://x") { _ in
            try? await Task.sleep(for: .seconds(600))
            ended.finish(Task.isCancelled)
            return .opened()
        }
        #expect(await router.open("a://x").code == .deadline)
        #expect(await ended.outcome())
    }
}
