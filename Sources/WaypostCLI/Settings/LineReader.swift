import Glibc

/// The lines of a file, or of standard input as they come; blank ones are passed over.
final class LineReader {
    /// One line, without what ends it.
    struct Line {
        /// From 1.
        var number: Int
        var bytes: ArraySlice<UInt8>
        /// False for one that is longer than ``LineReader/maximumBytes``, of which nothing is kept.
        var isWhole = true
    }

    /// The longest line, in bytes; more than any table of routes that stands in one.
    static let maximumBytes = 16 << 20

    private let name: String
    private let descriptor: Int32
    private var rest: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var number = 0
    private var isSkipping = false
    private var isAtEnd = false

    /// Opens a file; `-` is standard input.
    ///
    /// - Throws: ``CommandError`` 64 naming the file and what the system says.
    init(_ path: String, purpose: String) throws(CommandError) {
        name = "\(purpose) \(path)"
        descriptor =
            path == "-"
            ? fcntl(Invocation.current.input, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandError(.usage, "\(name): \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    /// The lines that came together; nil at the end.
    func next() throws(CommandError) -> [Line]? {
        while !isAtEnd {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw CommandError(.usage, "\(name): \(String(cString: strerror(errno)))")
            }
            isAtEnd = count == 0
            let lines = isAtEnd ? last() : split(buffer[..<count])
            if !lines.isEmpty { return lines }
        }
        return nil
    }

    private func split(_ bytes: ArraySlice<UInt8>) -> [Line] {
        var lines: [Line] = []
        var start = bytes.startIndex
        while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            rest += bytes[start..<end]
            finish(&lines)
            start = end + 1
        }
        rest += bytes[start...]
        if rest.count > Self.maximumBytes {
            isSkipping = true
            rest.removeAll()
        }
        return lines
    }

    private func last() -> [Line] {
        var lines: [Line] = []
        if !rest.isEmpty || isSkipping { finish(&lines) }
        return lines
    }

    private func finish(_ lines: inout [Line]) {
        number += 1
        if number == 1, rest.starts(with: InputFile.byteOrderMark) {
            rest.removeFirst(InputFile.byteOrderMark.count)
        }
        let isBlank = rest.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        if isSkipping || !isBlank {
            let bytes = rest.last == 0x0D ? rest.dropLast() : rest[...]
            lines.append(Line(number: number, bytes: isSkipping ? [] : bytes, isWhole: !isSkipping))
        }
        isSkipping = false
        rest.removeAll(keepingCapacity: rest.capacity < 1 << 20)
    }
}
