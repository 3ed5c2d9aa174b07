import Foundation
import GRDB

@testable import WaypostAgent

/// A state file as an older version left it.
enum OldStateFile {
    static func create(
        version: Int, in directory: String, _ rows: @escaping (Database) throws -> Void
    ) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let path = "\(directory)/\(Store.fileName)"
        let queue = try DatabaseQueue(path: path)
        try queue.write { db in
            try Schema.migrate(db, path: path, to: version)
            try rows(db)
        }
        try queue.close()
    }
}
