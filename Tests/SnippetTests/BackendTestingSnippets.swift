import Testing
import Waypost
import WaypostBackend
import WaypostTesting

@Suite struct `Snippets on testing a backend` {
    // snippet
    func isShownWhenThePrinterFails() async throws -> Bool {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("kiosk://orders/:id") { _ in .opened() }
        try router.register("kiosk://receipts/:id", kind: .action) { _ in .opened() }
        return try await TestBackend.with { test in
            let kiosk = try await test.agent("kiosk-7", groups: ["lobby"], router: router)
            try kiosk.fail("kiosk://receipts/:id", with: Failure(.handlerFailed, "out of paper"))
            // What the shop does when an order is paid.
            let screen = test.backend.agent("kiosk-7")
            try await screen.open("kiosk://orders/17")
            _ = try? await screen.open("kiosk://receipts/17")
            return kiosk.received.map(\.name) == ["kiosk://orders/:id", "kiosk://receipts/:id"]
        }
    }
    // end snippet

    @Test func `the receipt fails, and the order is shown`() async throws {
        #expect(try await isShownWhenThePrinterFails())
    }
}
