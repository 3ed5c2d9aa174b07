import Testing
import Waypost

// snippet
struct OrderRoute: TypedRoute {
    static let key: RouteKey = "myapp://orders/:id/items"
    var id: Int
    var page: Int?
}

func openOrder(with router: Router) async throws -> Opening {
    try router.register(OrderRoute.self) { order, request in
        .opened(JSONValue(order.id * (order.page ?? 1)))
    }
    return await router.open(OrderRoute(id: 4, page: 2))
}
// end snippet

// snippet
struct TotalRoute: TypedRoute {
    typealias Answer = Int
    static let key: RouteKey = "myapp://orders/:id/total"
    var id: Int
}

func openTotal(with router: Router) async throws -> Int {
    try router.register(TotalRoute.self) { total, request in total.id * 100 }
    return try await router.open(TotalRoute(id: 4))
}
// end snippet

// snippet
protocol OrderStore: Sendable {
    func find(_ id: Int) async -> String?
}

func registerOrders(on router: Router, store: some OrderStore) throws {
    router.services.register((any OrderStore).self) { store }
    try router.register("myapp://stored/:id") { request in
        let orders = try request.service((any OrderStore).self)
        let id = try request.parameters.value("id", as: Int.self)
        guard let order = await orders.find(id) else { throw Failure(.noOrder, "there is no order \(id)") }
        return .opened(.string(order))
    }
}

extension Code {
    static let noOrder = Code(application: 1_404, "NO_ORDER", isRejection: true)
}
// end snippet

@Suite struct `Snippets on typed routes` {
    private struct Orders: OrderStore {
        func find(_ id: Int) -> String? { id == 4 ? "four" : nil }
    }

    @Test func `a typed route opens with its value`() async throws {
        let opening = try await openOrder(with: Router())
        #expect(opening.value == 8)
        #expect(opening.url == "myapp://orders/4/items?page=2")
        #expect(try OrderRoute(id: 4, page: 2).url == opening.url)
    }

    @Test func `an open gives the answer of a typed route`() async throws {
        #expect(try await openTotal(with: Router()) == 400)
    }

    @Test func `a handler takes what it needs, and chooses its code`() async throws {
        let router = Router()
        try registerOrders(on: router, store: Orders())
        #expect(await router.open("myapp://stored/4").value == "four")
        #expect(await router.open("myapp://stored/5").code == .noOrder)
    }
}
