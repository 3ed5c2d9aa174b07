import Foundation

@testable import WaypostAgent

/// A state file that no agent has opened yet.
enum PreparedState {
    static func create(in directory: String, _ rows: (Database) throws -> Void = { _ in }) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let path = "\(directory)/\(Store.fileName)"
        let db = try Database(path: path)
        try db.transact {
            try Schema.migrate(db, path: path)
            try rows(db)
        }
    }
}
