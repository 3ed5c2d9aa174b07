import Foundation
import TestSupport
import Testing

@testable import Waypost

/// URLs in which RFC 3986 and the WHATWG URL standard, or programs that follow them, find different hosts.
@Suite(.patient) struct `The host of a URL` {
    /// A row of the table.
    struct Row: Sendable {
        var url: String
        /// Nil when the URL is refused.
        var host: String?
    }

    /// `Vectors/hosts.jsonl` has a row a line: `url`, and `host`, or `refused` with the reason.
    private static func rows() throws -> [Row] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Vectors/hosts.jsonl")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
            let json = try JSONValue(parsing: String(line))
            return Row(url: try #require(json["url"]?.stringValue), host: json["host"]?.stringValue)
        }
    }

    @Test func `is the one that browsers find, or the URL is refused`() throws {
        let rows = try Self.rows()
        #expect(rows.count >= 100)
        var table = RouteTable()
        try table.add(RoutePattern("**"), index: 0)
        for row in rows {
            #expect((try? RouteURL(row.url) as RouteURL)?.host == row.host, "\(row.url.debugDescription)")
            // Bytes that come without a String take the same way.
            let isRead = (try? table.firstMatch(url: Array(row.url.utf8).span)) != nil
            #expect(isRead == (row.host != nil), "\(row.url.debugDescription)")
        }
    }

    @Test func `that is refused is 422 when it is opened, or a redirect leads there`() async throws {
        let router = Router()
        try router.register("app://web") { _ in .opened() }
        for row in try Self.rows() where row.host == nil {
            #expect(await router.open(row.url).code == .badField, "\(row.url.debugDescription)")
        }
        let target = "https://evil.com\\@allowed.example"
        #expect(throws: RelocationError.self) {
            try RelocationEntry.list([
                ["routerType": 1, "orginPath": "app://web", "targetPath": .string(target)]
            ])
        }
    }
}
