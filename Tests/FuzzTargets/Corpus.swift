import Foundation

extension FuzzTarget {
    /// The inputs that scripts/test --fuzz has gathered for the reader.
    var corpus: [(name: String, bytes: [UInt8])] {
        get throws {
            let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "Corpus/\(rawValue)")
            let files = try FileManager.default.contentsOfDirectory(
                at: folder, includingPropertiesForKeys: nil)
            return try files.map {
                ("Corpus/\(rawValue)/\($0.lastPathComponent)", Array(try Data(contentsOf: $0)))
            }
        }
    }
}
