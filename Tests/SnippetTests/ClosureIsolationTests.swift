import Foundation
import Testing
import WaypostBackend

/// What an app passes keeps the actor that it was written on: of each closure that is kept and called later, the list of
/// the public interface says that it may belong to one.
@Suite struct `Closures of the interface` {
    /// Those that belong to no actor, each with its reason.
    static let exceptions: [(symbol: String, reason: String)] = [
        (
            "Backend.func followLog(",
            "what comes waits for it, in order, and its answer may end that: never for an actor that is busy"
        ), ("Backend.func keptFailures(", "takes thousands a second, page by page, and waits for nothing"),
        ("NavigationStack.func observeNavigation(", "the router's own closure"),
        ("Navigator.func observeNavigation(", "the router's own closure"),
        ("RelocationContext.init(", "the time, asked for while a URL is looked up"),
        ("Route.typealias Redirect", "asked while a URL is looked up, which never waits"),
        ("RouteConverter.init(", "a function of a text, asked while a URL is looked up"),
    ]

    static func interface() throws -> [String] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../API")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .flatMap { try String(contentsOf: $0, encoding: .utf8).split(separator: "\n").map(String.init) }
    }

    /// A closure that is sent elsewhere and says nothing of where it runs.
    static func isBare(_ line: String) -> Bool {
        var rest = line[...]
        while let place = rest.range(of: "@Sendable (") {
            let before = rest[..<place.lowerBound]
            if !before.hasSuffix("@isolated(any) "), !before.hasSuffix("nonisolated(nonsending) @escaping "),
                !before.hasSuffix("nonisolated(nonsending) ")
            {
                return true
            }
            rest = rest[place.upperBound...]
        }
        return false
    }

    @Test func `each keeps the actor of its author, or is named with a reason`() throws {
        let bare = try Self.interface().filter(Self.isBare)
        for line in bare {
            #expect(Self.exceptions.contains { line.hasPrefix($0.symbol) }, "\(line)")
        }
        for exception in Self.exceptions {
            #expect(bare.contains { $0.hasPrefix(exception.symbol) }, "\(exception.symbol) is none any more")
        }
    }

    @Test func `no call gives a Result`() throws {
        #expect(try Self.interface().filter { $0.contains("-> Result<") } == [])
    }
}

/// Compiled only: what a roll-out looks like is shown where the user interface is.
@MainActor private final class RolloutBoard {
    var last: RolloutStatus?

    func start(_ group: GroupClient, _ relocation: Relocation) async throws {
        _ = try await group.rollOut(relocation, id: "r", observe: { self.last = $0 })
        _ = try await group.resumeRollout { self.last = $0 }
        _ = try await group.takeRolloutBack(because: "x") { self.last = $0 }
    }
}
