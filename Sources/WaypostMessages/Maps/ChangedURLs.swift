package import Waypost

/// The URLs about which two maps differ: what the entries are about that one has and the other has not.
package final class ChangedURLs: Sendable {
    /// Matches what the entries are about, and where they lead.
    private let origins: Router
    private let targets: Router
    /// A URL for each of the entries' origins and paths, without those that have none.
    package let samples: [String]
    /// What the entries are about, as it is written.
    package let subjects: [String]

    package init(from older: [RelocationEntry], to newer: [RelocationEntry]) {
        // Where the newer map closes pages, that they do not open is meant so, and calls are no URLs.
        let entries = RelocationChanges(from: older, to: newer).list
            .filter { $0.after?.subject == nil }
            .flatMap { [$0.before, $0.after].compactMap(\.self) }
            .filter { $0.subject == nil || $0.pages != nil }
        var seen: Set<String> = []
        let subjects = entries.map(\.subjectPath).filter { seen.insert($0).inserted }
        self.subjects = subjects
        var sampled: Set<String> = []
        samples = entries.compactMap(\.sample).filter { sampled.insert($0).inserted }
        origins = Self.router(subjects)
        targets = Self.router(entries.compactMap(\.target))
    }

    /// A pattern that another one equals adds nothing, and one that is none matches nothing.
    private static func router(_ patterns: [String]) -> Router {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        for pattern in patterns {
            _ = try? router.register([Route(RouteKey(pattern)) { _ in .opened(.null) }], replacing: true)
        }
        return router
    }

    /// Whether an entry that differs is about a URL.
    package func contains(_ url: String) -> Bool { origins.resolve(url).route != nil }

    /// Whether an entry that differs is about a URL or leads to it: failures name the last one of a chain.
    package func touches(_ url: String) -> Bool { contains(url) || targets.resolve(url).route != nil }
}

extension RelocationEntry {
    fileprivate var target: String? {
        switch kind {
        case .replace(_, let target), .reset(_, let target?): target
        default: nil
        }
    }
}
