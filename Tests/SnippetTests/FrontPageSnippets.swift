import Testing
import Waypost

@Suite struct `Snippets of the front page` {
    @Test func `an order opens, and a typing error is answered`() async throws {
        // snippet
        let router = Router()
        try router.register("myapp://orders/:id", name: "OrderScreen") { request in
            let id = try request.parameters.value("id", as: Int.self)
            return .opened(["order": JSONValue(id)])
        }

        let opening = await router.open("myapp://orders/42?tab=items")
        let typo = await router.open("myapp://order/42")
        // end snippet
        #expect(opening.outcome == .opened)
        #expect(opening.value == ["order": 42])
        #expect(typo.code == .noRoute)
        #expect(typo.nearest == ["myapp://orders/:id"])
    }
}
