import CZlib
import WaypostMessages

/// Files in one archive, as `tar` writes it (POSIX ustar) and `gzip` packs it.
struct TarArchive {
    private static let block = 512

    private var bytes: [UInt8] = []

    /// - Parameters:
    ///   - name: Its path, at most 100 bytes.
    ///   - time: Of its last change, in milliseconds since 1970.
    mutating func add(_ name: String, _ content: [UInt8], at time: Int64) {
        var header = [UInt8](repeating: 0, count: Self.block)
        func put(_ text: some Collection<UInt8>, at place: Int) {
            header.replaceSubrange(place..<place + text.count, with: text)
        }
        func put(octal number: Int64, digits: Int, at place: Int) {
            let text = String(number, radix: 8)
            put((String(repeating: "0", count: max(0, digits - text.utf8.count)) + text).utf8, at: place)
        }
        put(name.utf8.prefix(100), at: 0)
        put(octal: 0o600, digits: 7, at: 100)
        // The owner and the group.
        put(octal: 0, digits: 7, at: 108)
        put(octal: 0, digits: 7, at: 116)
        put(octal: Int64(content.count), digits: 11, at: 124)
        // Eleven digits last until the year 2242.
        put(octal: min(max(0, time / 1_000), 0o777_7777_7777), digits: 11, at: 136)
        // A plain file.
        put("0".utf8, at: 156)
        put("ustar\u{0}00".utf8, at: 257)
        // Taken over the header with blanks in its own place.
        put("        ".utf8, at: 148)
        let sum = header.reduce(0) { $0 + Int64($1) }
        put(octal: sum, digits: 6, at: 148)
        header[154] = 0
        bytes += header + content
        bytes += [UInt8](repeating: 0, count: (Self.block - content.count % Self.block) % Self.block)
    }

    /// The archive, packed.
    ///
    /// - Throws: ``BackendError`` when there is no memory for it.
    func packed() throws(BackendError) -> [UInt8] {
        // Its end are two empty blocks.
        let whole = bytes + [UInt8](repeating: 0, count: 2 * Self.block)
        let capacity = Int(waypost_gzip_bound(UInt(whole.count)))
        let packed = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            count = whole.withUnsafeBytes {
                Int(waypost_gzip($0.baseAddress, UInt($0.count), buffer.baseAddress, UInt(buffer.count)))
            }
        }
        guard !packed.isEmpty else {
            throw BackendError(.unreadable, "pack the bundle: there is no memory for \(whole.count) bytes")
        }
        return packed
    }
}
