import TestSupport
import Testing
import Waypost

@Suite(.patient) struct `What handlers depend on` {
    protocol Orders: Sendable {
        func find(_ id: Int) -> String?
    }

    struct SomeOrders: Orders {
        var names: [Int: String]
        func find(_ id: Int) -> String? { names[id] }
    }

    final class OrderService: Sendable {
        let orders: any Orders
        init(orders: any Orders) { self.orders = orders }
        func name(of id: Int) -> String { orders.find(id) ?? "none" }
    }

    @Test func `is taken from the router of the open`() async throws {
        for name in ["one", "other"] {
            let router = Router()
            router.services.register((any Orders).self) { SomeOrders(names: [4: name]) }
            try router.register("d://orders/:id") { request in
                let orders = try request.service((any Orders).self)
                let id = try request.parameters.value("id", as: Int.self)
                return .opened(orders.find(id).map { .string($0) })
            }
            try router.register("d://again/:id") { request in
                let again = await request.router.open("d://orders/4")
                return .opened(again.value)
            }
            try router.services.expose(
                ExposedService(
                    "OrderService", make: { try OrderService(orders: $0.fetch((any Orders).self)) }
                ) {
                    Exposed("name(of:)") { (service: OrderService, id: Int) in service.name(of: id) }
                })
            #expect(await router.open("d://orders/4").value == .string(name))
            #expect(await router.open("d://again/4").value == .string(name))
            #expect(
                try await router.services.call("OrderService", "name", arguments: .positional([4]))
                    == .string(name))
        }
    }

    @Test func `and what nobody registered is named`() async throws {
        let router = Router()
        try router.register("d://orders") { request in
            _ = try request.service((any Orders).self)
            return .opened()
        }
        let opening = await router.open("d://orders")
        #expect(opening.code == .handlerFailed)
        #expect(opening.detail.contains("d://orders needs Orders, which is not registered"))
    }
}
