import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostTesting
import WaypostTools

/// `HardClient.swift` is what `waypost generate swift` writes for the contract with hard names; it compiles, and here it opens.
@Suite(.timeLimit(.minutes(60)))
struct HardClientTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    @Test func `the generated file is that of the contract`() async throws {
        let contract = Self.folder.appending(path: "../Clients/hard-names.json").path
        let generated = try await CommandProcess(["generate", "swift", "--contract", contract]).ending()
        #expect(generated.status == 0, "\(generated.errorLines)")
        let text = try String(contentsOf: Self.folder.appending(path: "HardClient.swift"), encoding: .utf8)
        #expect(generated.output == text.dropLast().components(separatedBy: "\n"))
    }

    @Test func `its routes open the agent's, and give their answers`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("shop://orders/:class/:self") { request in
            .opened(.object(request.parameters.merged))
        }
        try router.register("shop://trip/:from-:to.html") { request in
            let from = try request.parameters.value("from", as: String.self)
            return .opened(from == "nowhere" ? .null : [.string(from), request.parameters["to"] ?? .null])
        }
        try router.register("shop://größe/在/:ä") { .opened($0.parameters["ä"]) }
        try await TestBackend.with { test in
            try await test.agent("k1", router: router)
            let routes = Routes(test.backend.agent("k1"))
            let options = SendOptions(deadline: .seconds(300))
            let opened = try await routes.orders_class_self(
                class: "a/b ä", self_: -7, import: .b_, params: 3, parameters: ["more": true], options)
            #expect(
                opened.value == ["class": "a/b ä", "self": "-7", "import": "b\"", "params": 3, "more": true])
            #expect(try await routes.trip_from___to__html(from: "A", to: "B", options) == ["A", "B"])
            #expect(try await routes.trip_from___to__html(from: "nowhere", to: "B", options) == nil)
            #expect(try await routes.größe_在_ä(ä: "dark\"", options) == .dark_)
            let other = await #expect(throws: BackendError.self) {
                try await routes.größe_在_ä(ä: "bright", options)
            }
            #expect(other?.kind == .unreadable)
            // These would be other URLs.
            for text in ["", ".", ".."] {
                await #expect(throws: RouteGenerationError.self) { try await routes.größe_在_ä(ä: text) }
            }
        }
    }

    private struct Total: TypedRoute {
        typealias Answer = Int
        static let key: RouteKey = "shop://orders/<int:id>/total"
        var id: Int
        var currency: String?
    }

    private struct Plain: TypedRoute {
        static let key: RouteKey = "shop://orders/<int:id>"
        var id: Int
    }

    @Test func `a backend opens the app's own typed routes`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register(Total.self) { total, _ in total.currency == "none" ? nil : total.id * 100 }
        try router.register(Plain.self) { plain, _ in .opened(JSONValue(plain.id)) }
        try await TestBackend.with { test in
            try await test.agent("k1", router: router)
            let client = test.backend.agent("k1")
            let options = SendOptions(deadline: .seconds(300))
            #expect(try await client.open(Total(id: 4), options) == 400)
            #expect(try await client.open(Plain(id: 4), options).value == 4)
            let declined = await #expect(throws: BackendError.self) {
                try await client.open(Total(id: 4, currency: "none"), options)
            }
            #expect(declined?.code == .noRoute)
            let contract = try await test.configuration.contract(of: "k1", within: .seconds(60))
            let listed = contract.routes.first { $0.path == Total.key.rawValue }
            #expect(listed?.json["result"]?["type"] == "integer")
        }
    }
}
