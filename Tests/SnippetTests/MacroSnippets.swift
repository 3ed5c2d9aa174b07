#if Macros
import Testing
import Waypost

// snippet
@Routable("myapp://invoices/:id", priority: 5)
struct InvoicePage {
    let id: Int

    init(from request: RouteRequest) throws {
        id = try request.parameters.value("id")
    }

    func opened() -> JSONValue? { JSONValue(id) }
}

#route("myapp://cart/clear", idempotent: true) { _ in
    .opened("empty")
}

@Service("CalculatorService")
actor Calculator {
    @Exposed(idempotent: true)
    func add(a: Int, b: Int) -> Int { a + b }
}
// end snippet

@Suite struct `Snippets with macros` {
    @Test func `what is declared beside the code opens without a list`() async throws {
        let router = Router()
        #expect(await router.open("myapp://invoices/7").value == 7)
        #expect(await router.open("myapp://cart/clear").value == "empty")
        let sum = try await router.services.call("CalculatorService", "add", arguments: .positional([40, 2]))
        #expect(sum == 42)
    }
}
#endif
