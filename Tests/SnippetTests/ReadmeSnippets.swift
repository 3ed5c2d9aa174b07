import Testing
import Waypost

@Suite struct `Snippets of the README` {
    @Test func `a redirect leads to a route`() async throws {
        // snippet
        let router = Router()
        try router.register("scheme://router/user/:id", name: "UserScreen") { request in
            let id = try request.parameters.value("id", as: Int.self)
            return .opened(["user": JSONValue(id)])
        }

        let redirect = RelocationEntry(
            .replace(origin: "scheme://router/me", target: "scheme://router/user/1"))
        try router.relocate([RelocationLayer(name: "agent", entries: [redirect])])

        let opening = await router.open("scheme://router/me?from=menu")
        print(opening.outcome, opening.hops)
        // end snippet
        #expect(opening.outcome == .opened)
        #expect(opening.value == ["user": 1])
        #expect(opening.hops == ["scheme://router/user/1?from=menu"])
    }
}
