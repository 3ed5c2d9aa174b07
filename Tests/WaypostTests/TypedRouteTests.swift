import TestSupport
import Testing
import Waypost

@testable import WaypostTools

/// A route as a type: what does not fit its pattern is refused when it is registered, and not met by the first open.
@Suite(.patient) struct `Typed routes` {
    enum Tab: String, Codable, CaseIterable { case items, history }

    struct OrderRoute: TypedRoute {
        static let key: RouteKey = "t://orders/<int:id>"
        var id: Int
        var tab: Tab?
        var price: Double?
    }

    @Test func `are opened, made into URLs and read back as values`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register(OrderRoute.self) { order, request in
            .opened(["id": JSONValue(order.id), "tab": .string(order.tab?.rawValue ?? request.route)])
        }
        #expect(await router.open(OrderRoute(id: 4, tab: .history)).value == ["id": 4, "tab": "history"])
        #expect(await router.open("t://orders/5?tab=items").value == ["id": 5, "tab": "items"])
        #expect(try OrderRoute(id: 4, price: 1.5).url == "t://orders/4?price=1.5")
        #expect(try router.url(for: OrderRoute(id: 4)) == "t://orders/4")
        let wrong = await router.open("t://orders/5?tab=lost")
        #expect(wrong.code == .badField)
        #expect(wrong.detail.contains("parameter \"tab\""))
        #expect(router.routes.first?.parameters.map(\.name) == ["id", "tab", "price"])
    }

    @Test func `run on the actor that registers them, and wait where they wait`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try await register(in: router)
        #expect(await router.open(OrderRoute(id: 6)).value == 6)
    }

    @MainActor private func register(in router: Router) throws {
        try router.register(OrderRoute.self) { order, _ in
            MainActor.assertIsolated()
            await Task.yield()
            return .opened(JSONValue(order.id))
        }
    }

    struct Receipt: Codable, Sendable, Equatable {
        var lines: [String]
        var total: Double
    }

    struct ReceiptRoute: TypedRoute {
        typealias Answer = Receipt
        static let key: RouteKey = "t://receipts/:id"
        var id: Int
    }

    struct CountRoute: TypedRoute {
        typealias Answer = Int?
        static let key: RouteKey = "t://count/:id"
        var id: Int
    }

    @Test func `give their answer as a value, to all others as JSON, and to the contract`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register(ReceiptRoute.self, name: "Receipt") { receipt, _ in
            guard receipt.id > 0 else { throw Failure(.handlerFailed, "no such receipt") }
            return receipt.id > 99 ? nil : Receipt(lines: ["tea"], total: 2.5)
        }
        try router.register(CountRoute.self, name: "Count", idempotent: true) { count, _ in
            await Task.yield()
            return .some(count.id == 0 ? nil : count.id)
        }
        #expect(try await router.open(ReceiptRoute(id: 4)) == Receipt(lines: ["tea"], total: 2.5))
        #expect(try await router.open(CountRoute(id: 4)) == 4)
        #expect(try await router.open(CountRoute(id: 0)) == nil)
        let opening: Opening = await router.open(ReceiptRoute(id: 4))
        #expect(opening.value == ["lines": ["tea"], "total": 2.5])
        #expect(await router.open("t://receipts/100").code == .noRoute)
        let failure = await #expect(throws: Failure.self) { try await router.open(ReceiptRoute(id: -1)) }
        #expect(failure?.code == .handlerFailed && failure?.detail.contains("no such receipt") == true)
        let contract = try RouterContract(JSONValue(parsing: router.contract.text))
        #expect(contract.routes == router.contract.routes)
        #expect(
            router.contract.routes.map { $0.json["result"] } == [
                ["swiftType": "Optional<Int>", "type": "integer", "optional": true],
                ["swiftType": "Receipt"],
            ])
        #expect(router.check(against: contract).findings == [])
    }

    @Test func `of which a redirect leads elsewhere give no answer of another type`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register(ReceiptRoute.self) { _, _ in Receipt(lines: [], total: 0) }
        try router.register("t://old/:id") { _ in .opened(["lines": ["old"], "total": 1]) }
        try router.register("t://none") { _ in .opened() }
        func redirect(to target: String) throws {
            let entry = RelocationEntry(.replace(origin: "t://receipts/4", target: target))
            try router.relocate([RelocationLayer(name: "agent", entries: [entry])])
        }
        try redirect(to: "t://old/1")
        #expect(try await router.open(ReceiptRoute(id: 4)) == Receipt(lines: ["old"], total: 1))
        try redirect(to: "t://none")
        let failure = await #expect(throws: Failure.self) { try await router.open(ReceiptRoute(id: 4)) }
        #expect(failure?.code == .badField && failure?.detail.contains("ReceiptRoute") == true)
    }

    @Test func `are shown by a navigator with their value`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        let stack = NavigationStack()
        try router.register(.page(OrderRoute.self, in: stack))
        #expect(await router.open(OrderRoute(id: 4, tab: .items)).outcome == .opened)
        let screen = try #require(stack.state.top)
        #expect(screen.name.hasSuffix("OrderRoute"))
        #expect(try screen.route(as: OrderRoute.self).tab == .items)
        #expect(await router.open("t://orders/4?tab=lost").code == .badField)
        #expect(stack.state.count == 1)
    }

    enum Shade: String, Codable { case pale, dark }
    enum Only: String, Codable { case one }
    enum Level: Int, Codable { case low = 1, high = 9 }
    struct Code: RawRepresentable, Codable { var rawValue: String }
    struct Flexible: Codable {
        var text: String
        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            text = (try? value.decode(Int.self)).map { "\($0)" } ?? (try? value.decode(String.self)) ?? ""
        }
        func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }
    }
    struct Narrow: TypedRoute {
        static let key: RouteKey = "t://narrow/:shade"
        var shade: Shade
        var only: Only
        var level: Level
        var maybe: Shade?
        var code: Code
        var flexible: Flexible?
        var last: Bool
    }

    @Test func `a contract has the cases of an enumeration, whether it lists them or not`() throws {
        let shade = ValueSchema(.string, values: ["pale", "dark"])
        let found = RouteParameter.properties(of: Narrow.self)
        #expect(
            found.map { "\($0.name) \($0.isRequired)" } == [
                "shade true", "only true", "level true", "maybe false", "code true", "flexible false",
                "last true",
            ])
        let wanted = [
            shade, ValueSchema(.string, values: ["one"]), ValueSchema(.integer), shade, ValueSchema(.string),
            .any,
            ValueSchema(.boolean),
        ]
        #expect(found.map(\.schema) == wanted)
        let router = Router()
        try router.register(Narrow.self) { narrow, _ in .opened(.string(narrow.shade.rawValue)) }
        let check = router.checkOpen("t://narrow/pal?only=one&level=1&code=x&last=true")
        #expect(check.fault?.detail.contains("pale or dark") == true, "\(check)")
    }

    struct Nameless: TypedRoute {
        static let key: RouteKey = "t://a/:id"
        var ident: Int
    }
    struct NumberOfUUID: TypedRoute {
        static let key: RouteKey = "t://b/<uuid:id>"
        var id: Int
    }
    struct ListOfText: TypedRoute {
        static let key: RouteKey = "t://c/:id"
        var id: [Int]
    }
    struct FlagOfNumber: TypedRoute {
        static let key: RouteKey = "t://d/<int:id>"
        var id: Bool
    }
    struct SmallOfLarge: TypedRoute {
        static let key: RouteKey = "t://e/<int(1000..):id>"
        var id: UInt8
    }
    struct ChoiceOfOthers: TypedRoute {
        static let key: RouteKey = "t://f/<in(red|blue):tab>"
        var tab: Tab
    }

    @Test func `that can never be read from their pattern are refused`() throws {
        func refusal<T: TypedRoute>(_ type: T.Type) -> String where T.Answer == Void {
            do {
                try Router().register(type) { _, _ in .opened() }
                return "registered"
            } catch {
                return "\(error)"
            }
        }
        #expect(refusal(Nameless.self).hasSuffix("Nameless has no property id for its placeholder"))
        #expect(
            refusal(NumberOfUUID.self).hasSuffix("NumberOfUUID.id is integer, but its placeholder gives uuid")
        )
        #expect(
            refusal(ListOfText.self).hasSuffix("ListOfText.id is array, but its placeholder gives string"))
        #expect(
            refusal(FlagOfNumber.self).hasSuffix(
                "FlagOfNumber.id is boolean, but its placeholder gives integer"))
        #expect(
            refusal(SmallOfLarge.self).contains("integer 0..255, but its placeholder gives integer 1000.."))
        #expect(
            refusal(ChoiceOfOthers.self).contains(
                "is items or history, but its placeholder gives blue or red"))
    }

    struct Mismatch: RoutablePage, Decodable { var id: Int }
    struct Misnamed: RoutablePage, Decodable { var ident: Int }
    struct Fitting: RoutablePage, Decodable {
        var id: String
        var page: Int
        static var defaults: [String: JSONValue] { ["page": 1] }
    }

    @Test func `pages are held against their patterns too, and what is most likely a slip is found by check`()
        throws
    {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        #expect(throws: RegistrationError.self) {
            try router.register(Route("t://m/<uuid:id>", to: Mismatch.self))
        }
        try router.register(Route("t://n/:id", to: Misnamed.self))
        try router.register(Route("t://o/:id/:slug", to: Fitting.self))
        let found = router.check().findings(.unreadPlaceholder)
        #expect(found.map(\.subject) == ["t://n/:id"])
        #expect(found.first?.detail.contains("needs ident beside the path, and has no property id") == true)
    }

    @Test func `a map cannot give a page a path that it can never be read from`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register(Route("t://m/:id", to: Mismatch.self, name: "Mismatch"))
        let report = try router.relocate([
            RelocationLayer(
                name: "m", entries: [RelocationEntry(.add(path: "t://u/<uuid:id>", className: "Mismatch"))])
        ])
        #expect(report.inactive.first?.reason.contains("Mismatch.id is integer") == true)
    }
}
