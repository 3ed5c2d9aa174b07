import Foundation

@testable import WaypostAgent

/// A state file as an older version left it.
enum OldStateFile {
    static func create(
        version: Int, in directory: String, _ rows: (Database) throws -> Void
    ) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let path = "\(directory)/\(Store.fileName)"
        let db = try Database(path: path)
        try db.transact {
            try Schema.migrate(db, path: path, to: version)
            try rows(db)
        }
    }
}
