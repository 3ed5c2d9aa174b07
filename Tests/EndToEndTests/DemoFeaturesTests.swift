import DemoFeatures
import Foundation
import Synchronization
import TestSupport
import Testing
import Waypost

/// The demo's features as an application has them: in its own process, without a broker.
@Suite(.timeLimit(.minutes(60)))
struct DemoFeaturesTests {
    private let directory = NSTemporaryDirectory() + "waypost-\(UUID().uuidString)"
    private let router: Router

    init() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        router = Router(configuration: RouterConfiguration(webPath: DemoFeatures.webPath))
        try DemoFeatures.register(in: router, stateDirectory: directory)
    }

    @Test(
        arguments: [
            ("scheme://router/demo", "TheRouter_Example.TheRouterController"),
            ("scheme://router/demo1", "TheRouter_Example.TheRouterControllerA"),
            ("scheme://router/demo2", "TheRouter_Example.TheRouterControllerB"),
            ("scheme://router/demo2Android", "TheRouter_Example.TheRouterControllerB"),
            ("scheme://router/demo3", "TheRouter_Example.TheRouterControllerC"),
            ("scheme://router/login", "LoginScreen"), ("scheme://router/user/42", "UserScreen"),
            ("scheme://webview/home", "WebScreen"), ("https://example.com", "WebScreen"),
        ])
    func `a path opens its screen`(_ url: String, _ screen: String) async {
        let opening = await router.open(url)
        #expect(opening.isSuccess)
        #expect(opening.value?["screen"] == .string(screen))
    }

    @Test func `the orders open only after a login`() async {
        #expect(await router.open("scheme://router/orders").code == .intercepted)
        #expect(await router.open("scheme://router/login").isSuccess)
        #expect(await router.open("scheme://router/orders").code == .intercepted)
        #expect(await router.open("scheme://router/login?user=Ada").isSuccess)
        #expect(await router.open("scheme://router/orders").isSuccess)
    }

    @Test func `the calculator adds and divides, and refuses what has no result`() async throws {
        #expect(try await call("CalculatorService", "add(a:b:)", [2, 3]).get() == 5)
        #expect(try await call("CalculatorService", "divide(a:by:)", [1, 4]).get() == 0.25)
        for (method, arguments) in [("add", [.int(.max), 1]), ("divide", [1, 0])] as [(String, [JSONValue])] {
            let failure = await #expect(throws: Failure.self) {
                try await call("CalculatorService", method, arguments).get()
            }
            #expect(failure?.code == .handlerFailed)
        }
    }

    @Test func `a mini program opens by its Swift name and by its selector`() async throws {
        for method in ["openMiniProgram(info:)", "openMiniProgram", "openMiniProgramWithInfo:"] {
            let value = try await call("AppConfigServiceProtocol", method, [["key": "value"]]).get()
            #expect(value["info"]?["key"] == "value")
        }
    }

    @Test func `the ledger counts its lines, and put keeps one line a key`() async throws {
        #expect(try await call("LedgerService", "append(entry:)", ["one"]).get() == 1)
        #expect(try await call("LedgerService", "append(entry:)", ["one"]).get() == 2)
        #expect(try await call("LedgerService", "put(key:value:)", ["k", "v"]).get() == 3)
        #expect(try await call("LedgerService", "put(key:value:)", ["k", "w"]).get() == 3)
        #expect(try await call("LedgerService", "entries()", []).get() == ["one", "one", "k=w"])
        let text = try String(contentsOfFile: directory + "/ledger.txt", encoding: .utf8)
        #expect(text == "one\none\nk=w\n")
        let failure = await #expect(throws: Failure.self) {
            try await call("LedgerService", "append(entry:)", ["two\nlines"]).get()
        }
        #expect(failure?.code == .handlerFailed)
    }

    @Test(
        arguments: [
            ("scheme://router/append/17", "scheme://router/append/:line", "17"),
            ("scheme://router/append/a%20b", "scheme://router/append/:line", "a b"),
            ("scheme://router/old-append/18", "scheme://router/append/:line", "18"),
        ])
    func `a line is appended by URL, not repeatable whatever leads there`(
        _ url: String, _ route: String, _ line: String
    ) async throws {
        let starts = Mutex<[HandlerStart]>([])
        let context = OpenContext(beforeHandler: { start in starts.withLock { $0.append(start) } })
        let opening = await router.open(url, context: context)
        #expect(opening.value == 1)
        #expect(opening.route == route)
        #expect(try await call("LedgerService", "entries()", []).get() == [.string(line)])
        let last = starts.withLock { $0.last }
        #expect(last?.subject == route)
        #expect(last?.isIdempotent == false)
    }

    @Test func `the printer is set up when it is first needed`() async throws {
        #expect(router.modulesLoading == ["PrinterModule"])
        #expect(try await call("PrinterService", "print(line:)", ["one"]).get() == 1)
        #expect(await router.open("scheme://router/printer").isSuccess)
        #expect(router.moduleFailures.isEmpty)
    }

    @Test func `a printer without paper fails, and nothing else`() async throws {
        #expect(FileManager.default.createFile(atPath: directory + "/no-paper", contents: nil))
        #expect(await router.open("scheme://router/printer").code == .module)
        #expect(await router.open("scheme://router/demo").isSuccess)
        #expect(router.moduleFailures.map(\.reason) == ["setUp failed: noPaper"])
    }

    @Test(
        arguments: [
            ("CalculatorService", "add", true), ("CalculatorService", "divide", true),
            ("ClockService", "now", true), ("ClockService", "sleep", true),
            ("LedgerService", "append", false), ("PrinterService", "print", false),
            ("LedgerService", "put", true), ("LedgerService", "entries", true),
            ("AppConfigServiceProtocol", "openMiniProgram", true),
        ])
    func `only what may run twice says so`(_ service: String, _ method: String, _ mayRunTwice: Bool) {
        #expect(router.services.method(service, method)?.idempotent == mayRunTwice)
    }

    private func call(
        _ service: String, _ method: String, _ arguments: [JSONValue]
    ) async -> Result<JSONValue, Failure> {
        await ending { try await router.services.call(service, method, arguments: .positional(arguments)) }
    }
}
