import Testing
import Waypost

@Suite struct `Snippets on finding a handler` {
    @Test func `a URL is read into its parts`() throws {
        // snippet
        let url = try RouteURL("MyApp://orders//4%2F2/?tab=items&tab=notes#top")
        let components = url.components
        let tab = url.query["tab"]
        let tabs = url.query.allValues(of: "tab")
        // end snippet
        #expect(components == ["orders", "4/2"])
        #expect(tab == "notes")
        #expect(tabs == ["items", "notes"])
        #expect(url.scheme == "myapp")
        #expect(url.fragment == "top")
    }

    @Test func `a converter of one's own decides`() async throws {
        // snippet
        let year = RouteConverter { text in
            text.count == 4 ? Int64(text).map { .int($0) } : nil
        }
        let archive = Router(configuration: RouterConfiguration(converters: ["year": year]))
        try archive.register("news://archive/<year:y>") { request in .opened(request.parameters["y"]) }
        try archive.register("news://archive/:name") { request in .opened(request.parameters["name"]) }
        // end snippet
        #expect(await archive.open("news://archive/2026").value == 2026)
        #expect(await archive.open("news://archive/latest").value == "latest")
    }

    @Test func `a component may have several placeholders`() async throws {
        // snippet
        let trips = Router()
        try trips.register("rail://trip/:from-:to") { request in .opened(request.parameters["to"]) }
        try trips.register("rail://day/<int:y>-<int(1..12):m>-<int(1..31):d>") { request in
            .opened(request.parameters["m"])
        }
        // end snippet
        #expect(await trips.open("rail://trip/hgh-pek").value == "pek")
        #expect(await trips.open("rail://trip/hgh-pek-sha").value == "pek-sha")
        #expect(await trips.open("rail://day/2026-11-22").value == 11)
        #expect(await trips.open("rail://day/2026-13-22").code == .noRoute)
    }

    @Test func `parts of a pattern may be optional`() async throws {
        // snippet
        let orders = Router()
        try orders.register("shop://orders/:id(/items(/:page))") { request in
            .opened(request.parameters["page"] ?? "no page")
        }
        // end snippet
        #expect(await orders.open("shop://orders/7").value == "no page")
        #expect(await orders.open("shop://orders/7/items").value == "no page")
        #expect(await orders.open("shop://orders/7/items/2").value == "2")
        #expect(await orders.open("shop://orders/7/other").code == .noRoute)
    }

    @Test func `literals may match in either case`() async throws {
        // snippet
        let shop = Router(configuration: RouterConfiguration(ignoresCase: true))
        try shop.register("shop://Items/:name") { request in .opened(request.parameters["name"]) }
        // end snippet
        #expect(await shop.open("shop://ITEMS/GreenTea").value == "GreenTea")
        #expect(throws: RegistrationError.self) {
            try shop.register("shop://items/:other") { _ in .opened() }
        }
    }

    @Test func `the order of candidates is total`() async throws {
        // snippet
        let router = Router()
        try router.register("shop://items/new") { _ in .opened("the form") }
        try router.register("shop://items/<int:id>") { request in .opened(request.parameters["id"]) }
        try router.register("shop://items/:name") { request in
            request.parameters["name"] == "secret" ? .pass : .opened(request.parameters["name"])
        }
        try router.register("shop://") { _ in .opened("the shop window") }
        // end snippet
        #expect(await router.open("shop://items/new").value == "the form")
        #expect(await router.open("shop://items/7").value == 7)
        #expect(await router.open("shop://items/tea").value == "tea")
        #expect(await router.open("shop://items/secret").value == "the shop window")
        #expect(await router.open("shop://far/away/from/here").value == "the shop window")
    }

    @Test func `an open waits for a login`() async throws {
        let router = Router()
        try router.register("shop://cart", metadata: ["auth": true]) { _ in .opened("cart") }
        @Sendable func isLoggedIn() -> Bool { true }
        // snippet
        let login = OpenGate("login")
        try router.intercept("login", scope: .metadata("auth")) { _ in
            isLoggedIn() ? .proceed : .wait(for: login, atMost: .seconds(60))
        }
        // After the login:
        login.open()
        // end snippet
        #expect(await router.open("shop://cart").value == "cart")
    }

    @Test func `a listener gets the whole open`() async throws {
        let router = Router()
        // snippet
        router.onOpen { opening in
            let keys = opening.redactedParameters().keys.sorted()
            print(opening.code, opening.url, opening.hops, opening.duration, opening.caller ?? "here", keys)
        }
        // end snippet
        #expect(await router.open("shop://none").code == .notAllowed)
    }

    @Test func `an interceptor redirects and is taken away`() async throws {
        let router = Router()
        try router.register("shop://login") { _ in .opened("login") }
        try router.register("shop://cart") { _ in .opened("cart") }
        @Sendable func isLoggedIn() -> Bool { false }
        // snippet
        let login = try router.intercept("login", scope: .allBut(["shop://login"])) { request in
            isLoggedIn() ? .proceed : .redirect(to: "shop://login?back=\(request.url.components.last ?? "")")
        }
        // end snippet
        let opening = await router.open("shop://cart")
        #expect(opening.url == "shop://login?back=cart")
        login.cancel()
        #expect(await router.open("shop://cart").value == "cart")
    }

    @Test func `parameters are read as what the destination needs`() async throws {
        let router = Router()
        // snippet
        struct Search: Decodable {
            var keyword: String
            var page: Int?
        }

        try router.register("shop://search/:keyword") { request in
            let search = try request.parameters.decode(Search.self)
            return .opened(.string("\(search.keyword), page \(search.page ?? 1)"))
        }
        // end snippet
        #expect(await router.open("shop://search/tea?page=2").value == "tea, page 2")
        #expect(await router.open("shop://search/tea?page=two").code == .badField)
    }

    struct CartScreen {
        var items: Int
    }

    @Test func `a screen is returned, and a hook is asked first`() async throws {
        let router = Router()
        @Sendable func isLoggedIn() -> Bool { false }
        // snippet
        try router.register("shop://cart") { _ in .opened("2 items", object: CartScreen(items: 2)) }
        let cart = await router.open("shop://cart", parameters: ["from": "menu"])
        let screen = cart.object(as: CartScreen.self)
        let final = cart.parameters.merged
        // end snippet
        #expect(screen?.items == 2)
        #expect(final == ["from": "menu"])
        // snippet
        let hook = router.willOpen("campaign") { open in
            if open.url.contains("google") { return .open(open.url + "&extra1=234244") }
            return isLoggedIn() || !open.url.contains("bytedance") ? .proceed : .stop(reason: "log in first")
        }
        // end snippet
        #expect(await router.open("shop://cart?q=google").url == "shop://cart?q=google&extra1=234244")
        #expect(await router.open("shop://none?q=bytedance").code == .intercepted)
        hook.cancel()
        #expect(await router.open("shop://none?q=bytedance").code == .noRoute)
    }
}
