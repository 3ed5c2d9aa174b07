import TestSupport
import Testing

@testable import Waypost

@Suite(.patient) struct `Allow a URL` {
    @Test(arguments: [
        "https://example.com/Page", "HTTPS://EXAMPLE.COM/Page", " https://u@Example.Com:443/Page",
    ])
    func `the host of a web URL has no case`(url: String) async throws {
        let router = try recordingRouter([
            ("https://Example.com/Page", "Page"), ("https://:who.Example.com/", "Sub"),
        ])
        #expect(await router.open(url).route == "https://example.com/Page")
        #expect(await router.open("https://Ann.EXAMPLE.com").value?["params"] == ["who": "ann"])
        #expect(await router.open("https://example.com/page").code == .noRoute)
        var table = RouteTable()
        try table.add(RoutePattern("https://Example.com/Page"), index: 7)
        #expect(try table.firstMatch(url: Array(url.utf8).span)?.index == 7)
        #expect(throws: RegistrationError.self) {
            try router.register("https://EXAMPLE.com/Page") { _ in .opened() }
        }
        #expect(router.unregister("https://EXAMPLE.COM/Page"))
    }

    @Test func `an app's own scheme compares its host with case`() async throws {
        let router = try recordingRouter([("app://Orders", "Orders")])
        #expect(await router.open("APP://Orders").isSuccess)
        #expect(await router.open("app://orders").code == .noRoute)
    }

    @Test func `schemes have no case, also when they are set later`() async throws {
        var configuration = RouterConfiguration()
        configuration.allowedSchemes = ["MyApp", "SVC"]
        configuration.serviceScheme = "SVC"
        let router = try recordingRouter([("myapp://a", "A")], configuration: configuration)
        #expect(await router.open("myapp://a").isSuccess)
        #expect(await router.open("MYAPP://a").isSuccess)
        #expect(await router.open("svc://services?protocol=No&method=no").code == .noService)
    }

    @Test func `allowed hosts and redirects of web URLs have no case either`() async throws {
        let router = try recordingRouter(
            [("https://shop.example.com/a", "A"), ("https://example.org/b", "B")],
            configuration: RouterConfiguration(allowedHosts: ["*.Example.com", "EXAMPLE.org"]))
        #expect(await router.open("https://Shop.example.COM/a").isSuccess)
        #expect(await router.open("https://other.org/a").code == .notAllowed)
        try router.relocate([
            RelocationLayer(
                name: "agent",
                entries: [
                    RelocationEntry(
                        .replace(origin: "https://SHOP.example.com/a", target: "https://Example.Org/b"))
                ])
        ])
        #expect(await router.open("https://shop.EXAMPLE.com/a").route == "https://example.org/b")
    }

    @Test func `a misspelt scheme is refused with the one that was meant`() async throws {
        let router = try recordingRouter([("kiosk://orders/:id", "Order"), ("shop://x", "X")])
        let opening = await router.open("kisok://orders/7?x=1")
        #expect(opening.code == .notAllowed)
        #expect(opening.nearest == ["kiosk://orders/7?x=1"])
        #expect(await router.open("completely-other://orders").nearest == [])
        let allowed = try recordingRouter(
            [("kiosk://orders", "Order")], configuration: RouterConfiguration(allowedSchemes: ["kiosk"]))
        #expect(await allowed.open("KIOSKS://orders").nearest == ["kiosk://orders"])
    }

    @Test(arguments: ["tel:1", "mailto:a@b", "javascript:alert(1)", "app:/x", "JavaScript:x"])
    func `a URL with a scheme but without slashes meets the allow-list and not the routes`(url: String)
        async throws
    {
        let routes = [(":any", "Any"), ("a@b", "Mail"), ("tel:1", "Old"), ("**", "All")]
        #expect(await (try recordingRouter(routes)).open(url).code == .notAllowed)
        #expect(await (try recordingRouter(routes + [("hd://x", "X")])).open(url).code == .notAllowed)
        let allowed = try recordingRouter(
            [("tel://:number", "Call")], configuration: RouterConfiguration(allowedSchemes: ["tel"]))
        #expect(await allowed.open("tel:1").value?["params"] == ["number": "1"])
    }
}

/// Hosts are compared in one form, on both sides.
@Suite(.patient) struct `Hosts however they are written` {
    static let same: [[String]] = [
        ["example.com", "EXAMPLE.com", "example.com.", "Example.Com."],
        ["[::1]", "[0:0:0:0:0:0:0:1]", "[0::0001]", "[::0.0.0.1]"],
        ["[fe80::a:0]", "[FE80:0::000A:0]"], ["127.0.0.1", "127.0.0.1."], ["localhost", "LOCALHOST."],
    ]

    @Test(arguments: same) func `one form for all spellings`(_ hosts: [String]) async {
        #expect(Set(hosts.map(HostName.normalized)).count == 1)
        for allowed in hosts {
            let router = Router(
                configuration: RouterConfiguration(
                    allowedHosts: [allowed], webPath: "a://web", registersLinked: false))
            _ = try? router.register("a://web") { _ in .opened() }
            for host in hosts {
                // The page of web URLs has its own host, which is not allowed here: what counts is what is said.
                let opening = await router.open("https://\(host)/x")
                #expect(!opening.detail.contains("host \(host)"), "\(allowed) \(host): \(opening.detail)")
            }
            #expect(await router.open("https://other.example/x").code == .notAllowed)
        }
    }

    @Test func `other hosts stay others`() {
        let others = [
            "example.com", "example.com..", "xexample.com", "[::1]", "[::2]", "::1", ".", "", "[::1::2]",
            "[1]", "[+1::]", "[1::]", "[::1.+2.3.4]", "[::1.2.3.4]", "[::1..2.3.4]",
        ]
        #expect(Set(others.map(HostName.normalized)).count == others.count)
    }
}
