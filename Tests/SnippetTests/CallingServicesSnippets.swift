import TestSupport
import Testing
import Waypost

@Suite struct `Snippets on services` {
    // snippet
    protocol AppConfigService: Sendable {
        func openMiniProgram(info: [String: String]) -> Bool
    }

    struct LocalAppConfig: AppConfigService {
        func openMiniProgram(info: [String: String]) -> Bool { info["key"] == "value" }
    }

    func fetchConfig() throws -> any AppConfigService {
        let services = ServiceRegistry()
        services.register((any AppConfigService).self) { LocalAppConfig() }
        return try services.fetch((any AppConfigService).self)
    }
    // end snippet

    // snippet
    actor Calculator {
        func add(a: Int, b: Int) throws -> Int {
            let (sum, overflow) = a.addingReportingOverflow(b)
            guard !overflow else { throw Overflow() }
            return sum
        }

        struct Overflow: Error {}
    }

    func exposeCalculator(on services: ServiceRegistry) throws {
        try services.expose(
            ExposedService("CalculatorService", make: Calculator.init) {
                Exposed("add(a:b:)", idempotent: true) { (calculator: Calculator, a: Int, b: Int) in
                    try await calculator.add(a: a, b: b)
                }
            })
    }
    // end snippet

    // snippet
    func callCalculator(on services: ServiceRegistry) async throws(Failure) -> [JSONValue] {
        [
            try await services.call("CalculatorService", "add(a:b:)", arguments: .positional([40, 2])),
            try await services.call("CalculatorService", "add", arguments: .labeled(["a": 40, "b": 2])),
            try await services.call("CalculatorService", "addWithA:b:", arguments: .positional([40, 2])),
        ]
    }
    // end snippet

    // snippet
    func sum(on services: ServiceRegistry) async throws -> Int {
        try await services.call("CalculatorService", "add", with: 40, 2, as: Int.self)
    }

    func printPage(on services: ServiceRegistry) async throws {
        try await services.call("PrinterService", "print", with: "a page")
    }
    // end snippet

    // snippet
    func guardPrinting(on services: ServiceRegistry) -> RegistrationHandle {
        services.willCall("operators only") { call in
            guard call.service == "PrinterService" else { return .proceed }
            return call.context.caller == "ops" ? .proceed : .stop(reason: "only ops may print")
        }
    }
    // end snippet

    // snippet
    actor Printer {
        private(set) var journal: [String] = []

        func print(_ text: String, for caller: String) {
            journal.append("\(caller): \(text)")
        }
    }

    func exposePrinter(on services: ServiceRegistry) throws {
        try services.expose(
            ExposedService("PrinterService", make: Printer.init) {
                Exposed("print(_:)") { (printer: Printer, context: OpenContext, text: String) in
                    await printer.print(text, for: context.caller ?? "the program")
                }
            })
    }
    // end snippet

    // snippet
    func callByURL(with router: Router) async -> Opening {
        await router.open(
            "scheme://services?protocol=CalculatorService&method=addWithA:b:&resultType=1",
            parameters: ["ivar1": 40, "ivar2": 2])
    }
    // end snippet

    @Test func `a service is fetched by its protocol`() throws {
        let config = try fetchConfig()
        #expect(config.openMiniProgram(info: ["key": "value"]))
    }

    @Test func `a method is called by each of its names`() async throws {
        let services = ServiceRegistry(clock: EndlessClock())
        try exposeCalculator(on: services)
        #expect(try await callCalculator(on: services) == [42, 42, 42])
        let failure = await #expect(throws: Failure.self) {
            try await services.call("CalculatorService", "add", arguments: .labeled(["a": 40, "b": "two"]))
        }
        #expect(failure?.code == .badField)
        #expect(failure?.detail.contains("argument \"b\"") == true)
        #expect(try await sum(on: services) == 42)
    }

    @Test func `a hook sees who calls, and a method asks for it`() async throws {
        let services = ServiceRegistry(clock: EndlessClock())
        try exposePrinter(on: services)
        let handle = guardPrinting(on: services)
        let arguments = ServiceArguments.positional(["a page"])
        let refused = await ending {
            try await services.call("PrinterService", "print", arguments: arguments)
        }
        #expect(
            refused
                == .failure(
                    Failure(.intercepted, "intercepted by operators only: only ops may print")))
        let limit = Duration.seconds(300)
        for context in [OpenContext(caller: "ops", deadline: limit), OpenContext(deadline: limit)] {
            _ = try? await services.call("PrinterService", "print", arguments: arguments, context: context)
            handle.cancel()
        }
        try await printPage(on: services)
        let printer = try services.fetch(Printer.self)
        let program = "the program: a page"
        #expect(await printer.journal == ["ops: a page", program, program])
    }

    @Test func `a method is called by URL`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try exposeCalculator(on: router.services)
        #expect(await callByURL(with: router).outcome == .served(42))
    }
}
