public import Foundation

extension EventLog {
    /// Adds what `make` makes of each line as it comes, and `last` when there will be no more; closes the handle then.
    public func follow(
        _ handle: FileHandle, _ make: @escaping @Sendable (String) -> Event, last: Event? = nil
    ) {
        // A thread that blocks: a handler of the run loop's kind may be freed while it waits.
        Thread.detachNewThread {
            var rest = Data()
            while true {
                let data = handle.availableData
                if data.isEmpty { break }
                rest += data
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    self.append(make(String(decoding: rest[rest.startIndex..<end], as: UTF8.self)))
                    rest = Data(rest[rest.index(after: end)...])
                }
            }
            try? handle.close()
            if !rest.isEmpty { self.append(make(String(decoding: rest, as: UTF8.self))) }
            if let last { self.append(last) }
        }
    }
}
