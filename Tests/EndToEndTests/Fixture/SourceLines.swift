import Foundation
import TestSupport

/// Lines of our own sources, found by grep: without optimisation Swift's regular expressions take seconds for all of them.
enum SourceLines {
    /// The lines with a match below a folder of `Sources`, without those that are comments; a file by its path in there.
    static func matching(_ pattern: String, in folder: String = "") async throws -> [(
        file: String, line: String
    )] {
        let place = "\(ShippedBroker.repository)/Sources/\(folder)"
        let ending = try await Tool.run("grep", ["-rP", "--include=*.swift", "-e", pattern, place])
        guard ending.status == 0 else {
            throw TestBroker.Failure(description: "grep ended with \(ending.status): \(ending.output)")
        }
        return ending.output.split(separator: "\n").compactMap { found in
            let parts = found.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, !parts[1].drop(while: \.isWhitespace).hasPrefix("//") else { return nil }
            return (String(parts[0].dropFirst(place.count)), String(parts[1]))
        }
    }
}
