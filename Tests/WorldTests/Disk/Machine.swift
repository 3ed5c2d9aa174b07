import Foundation
import TestSupport
import World

@testable import WaypostAgent

/// A state directory on a disk that dies now and then, with what must be in it.
///
/// Each commit has the next number and changes a few values; a number tells which values there were behind it. So what
/// is found after a death is one of the numbers that were tried, and no mixture of two.
final class Machine {
    struct Breach: Error, CustomStringConvertible { var description: String }

    let disk: WorldDisk
    let folder: String
    private let durability: Durability
    private var draws: SeededGenerator
    private var store: Store?
    /// The values behind each commit that was tried: the number that wrote each.
    private var versions: [Int64: [Int64: Int64]] = [0: [:]]
    private var current: Int64 = 0
    private(set) var tried: Int64 = 0
    /// What must be there after a loss of power.
    private(set) var durable: Int64 = 0

    init(seed: UInt64, _ durability: Durability) throws {
        (self.durability, draws) = (durability, SeededGenerator(seed: seed))
        let path = NSTemporaryDirectory() + "waypost-disk-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard let real = realpath(path, nil) else { throw Breach(description: "no folder") }
        defer { free(real) }
        folder = String(cString: real)
        disk = WorldDisk(folder: folder, seed: seed)
    }

    deinit {
        close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Starts, commits, and dies at a place that is drawn; now and then it is closed before.
    ///
    /// - Parameter lies: whether the disk lies about syncs.
    /// - Returns: False when the store refuses what is left, which it may only after lies.
    func live(lies: Bool = false) throws -> Bool {
        disk.lie(lies)
        if Int.random(in: 0..<5, using: &draws) > 0 {
            disk.die(after: Int.random(in: 1...300, using: &draws))
        }
        do {
            try open()
            for _ in 0..<Int.random(in: 1...40, using: &draws) { try step() }
            if Bool.random(using: &draws) { close() }
        } catch let error as StoreError {
            if !disk.isDead {
                guard lies, error.isLoss else { throw Breach(description: "\(error): \(files)") }
                return false
            }
        }
        disk.die()
        close()
        disk.revive()
        return true
    }

    private func close() {
        store?.close()
        store = nil
    }

    /// The files with their sizes.
    private var files: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().map { name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
            return "\(name) \(attributes?[.size] ?? 0)"
        }
    }

    /// Opens the store, and holds what is in it against what must be.
    func open() throws {
        let pages = [3, 20, Store.usualLogPages].randomElement(using: &draws) ?? 3
        let store = try Store(directory: folder, durability: durability, logPages: pages)
        self.store = store
        let (number, values) = try store.read(9) { transaction in
            let values = try (0..<8 as Range<Int64>).map { try transaction.text("value-\($0)") }
            return (try transaction.number("number") ?? 0, values)
        }
        guard store.repairs.isEmpty || number == 0 else {
            throw Breach(description: "it had to be repaired: \(store.repairs)")
        }
        guard let version = versions[number], number >= durable, number <= tried else {
            throw Breach(description: "commit \(number) is there; \(durable) is durable, \(tried) was tried")
        }
        for (slot, value) in zip(Int64(0)..., values) where value != version[slot].map(Self.text) {
            throw Breach(description: "behind commit \(number), value \(slot) is another one")
        }
        // What is found at a start is written, and synced, by it.
        (current, durable) = (number, number)
    }

    private func step() throws {
        guard let store else { return }
        let trouble = Int.random(in: 0..<40, using: &draws)
        if trouble == 0 { disk.failSyncs(true) }
        if trouble == 1 { disk.limit(Int.random(in: 4_096...200_000, using: &draws)) }
        defer {
            disk.failSyncs(false)
            disk.limit(nil)
        }
        tried += 1
        let number = tried
        var version = versions[current] ?? [:]
        for _ in 0..<Int.random(in: 1...4, using: &draws) {
            version[Int64.random(in: 0..<8, using: &draws)] = number
        }
        versions[number] = version
        do {
            try store.commit { transaction in
                try transaction.setNumber("number", number)
                for (slot, writer) in version where writer == number {
                    try transaction.setText("value-\(slot)", Self.text(writer))
                }
            }
        } catch {
            guard trouble < 2, !disk.isDead else { throw error }
            // It is not there now. After a death it may be, for it was written in part.
            let found = try store.read(1) { try $0.number("number") ?? 0 }
            guard found == current else { throw Breach(description: "commit \(number) failed, and is there") }
            return
        }
        current = number
        if durability == .full { durable = number }
    }

    private static func text(_ number: Int64) -> String {
        "\(number) " + String(repeating: "x", count: Int(number * 2_654_435_761 % 9_000))
    }
}
