import Testing

@testable import Waypost

@Suite struct `Set up modules` {
    final class Log: Sendable {
        let names = Guarded<[String]>([])
        func add(_ name: String) { names.withLock { $0.append(name) } }
    }

    struct Module: RouteModule {
        var name: String
        var dependencies: [String] = []
        var routes: [Route] = []
        let log: Log
        var failure: (any Error)?
        func setUp() async throws {
            log.add(name)
            if let failure { throw failure }
        }
    }

    struct Broken: Error {}

    @Test func `modules are set up once, at the first open, behind what they need`() async throws {
        let router = Router()
        let log = Log()
        router.declare([
            Module(
                name: "Orders", dependencies: ["Login", "Store"],
                routes: [Route("a://orders") { _ in .opened() }],
                log: log),
            Module(name: "Login", dependencies: ["Store"], log: log), Module(name: "Store", log: log),
        ])
        #expect(log.names.withLock { $0 }.isEmpty)
        #expect(!router.canOpen("a://orders"))
        let codes = await withTaskGroup { group in
            for _ in 0..<16 { group.addTask { await router.open("a://orders").code.number } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes == Array(repeating: 0, count: 16))
        #expect(log.names.withLock { $0 } == ["Store", "Login", "Orders"])
        router.declare([Module(name: "Late", dependencies: ["Login"], log: log)])
        try await router.load()
        #expect(log.names.withLock { $0 } == ["Store", "Login", "Orders", "Late"])
    }

    @Test func `a set-up that fails is the outcome of every open`() async throws {
        let router = Router()
        let log = Log()
        router.declare([
            Module(name: "Bad", log: log, failure: Broken()), Module(name: "Never", log: log),
        ])
        for _ in 0..<2 {
            let opening = await router.open("a://x")
            #expect(opening.code == .handlerFailed)
            #expect(opening.detail.contains("Bad"))
        }
        #expect(log.names.withLock { $0 } == ["Bad"])
        await #expect(throws: RouteFailure.self) { try await router.load() }
        router.declare([Module(name: "Good", routes: [Route("a://x") { _ in .opened() }], log: log)])
        #expect(await router.open("a://x").isSuccess)
    }

    static let wrong: [([(String, [String])], String)] = [
        ([("A", ["B"]), ("B", ["A"])], "A → B → A"), ([("A", ["C"])], "needs C"),
        ([("A", []), ("A", [])], "twice"),
    ]

    @Test(arguments: wrong)
    func `modules that cannot be ordered are named`(modules: [(String, [String])], part: String) async {
        let router = Router()
        let log = Log()
        router.declare(modules.map { Module(name: $0.0, dependencies: $0.1, log: log) })
        #expect(await router.open("a://x").detail.contains(part))
        #expect(log.names.withLock { $0 }.isEmpty)
    }

    @Test func `a module may open URLs while it is set up`() async throws {
        struct Opener: RouteModule {
            let router: Router
            var routes: [Route] { [Route("a://late") { _ in .opened() }] }
            func setUp() async throws {
                guard await router.open("a://early").isSuccess else { throw Broken() }
            }
        }
        let router = Router()
        try router.register("a://early") { _ in .opened() }
        router.declare([Opener(router: router)])
        #expect(await router.open("a://late").isSuccess)
    }
}
