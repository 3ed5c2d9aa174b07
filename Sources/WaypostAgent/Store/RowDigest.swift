import Waypost
import WaypostMessages

/// A digest of a row's columns, stored in the row: what the disk changed is noticed when the row is read.
///
/// SQLite finds a page whose structure is wrong, but not a byte of a value. Eight bytes of SHA-256, which are
/// enough against accidents; who can write the file can write its digests too.
enum RowDigest {
    static func of(_ columns: [SQLValue]) -> Int64 {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        for column in columns {
            switch column {
            case .null: bytes.append(0)
            case .integer(let number):
                bytes.append(1)
                append(number, to: &bytes)
            case .text(let text):
                bytes.append(2)
                append(Int64(text.utf8.count), to: &bytes)
                bytes.append(text: text)
            case .blob(let blob):
                bytes.append(3)
                append(Int64(blob.count), to: &bytes)
                bytes += blob
            }
        }
        return SHA256.digest(of: bytes).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }
}
