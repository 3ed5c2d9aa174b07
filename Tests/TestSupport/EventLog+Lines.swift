public import Foundation

extension EventLog {
    /// Adds what `make` makes of each line as it comes, and `last` when there will be no more; closes the handle then.
    public func follow(
        _ handle: FileHandle, _ make: @escaping @Sendable (String) -> Event, last: Event? = nil
    ) {
        // A thread that blocks: a handler of the run loop's kind may be freed while it waits.
        Thread.detachNewThread {
            var rest: [UInt8] = []
            while true {
                let data = handle.availableData
                if data.isEmpty { break }
                rest += data
                for line in Self.takeLines(from: &rest) { self.append(make(line)) }
            }
            try? handle.close()
            if !rest.isEmpty { self.append(make(String(decoding: rest, as: UTF8.self))) }
            if let last { self.append(last) }
        }
    }

    /// The lines that are whole; what is left has no end yet.
    private static func takeLines(from bytes: inout [UInt8]) -> [String] {
        var lines: [String] = []
        let taken = bytes.withUnsafeBytes { buffer in
            guard var start = buffer.baseAddress else { return 0 }
            let (first, end) = (start, start + buffer.count)
            while let newline = memchr(start, 0x0A, end - start).map({ UnsafeRawPointer($0) }) {
                let line = UnsafeRawBufferPointer(start: start, count: newline - start)
                lines.append(String(decoding: line, as: UTF8.self))
                start = newline + 1
            }
            return start - first
        }
        bytes.removeFirst(taken)
        return lines
    }
}
