import Waypost
import WaypostMessages

/// A JSON file that was read, and where its values stand.
struct JSONFile {
    /// What is no JSON, and where.
    struct Fault: Error, CustomStringConvertible {
        var place: FilePlace
        var detail: String
        var description: String { "\(place): \(detail)" }
    }

    /// The file as it was given; `<stdin>` for standard input.
    let name: String
    let json: JSONValue
    let values: JSONPlaces
    /// Where each line begins, in bytes.
    private let lines: [Int]

    /// Reads the bytes of a file.
    ///
    /// - Parameter path: The file as it was given; `-` is standard input.
    init(_ bytes: [UInt8], of path: String) throws(Fault) {
        name = FilePlace.name(path)
        values = JSONPlaces(bytes)
        lines = [0] + bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.map { $0 + 1 }
        do throws(JSONError) {
            json = try JSONValue(parsing: bytes, limits: .trustedFile)
        } catch {
            throw Fault(
                place: Self.place(error.offset, bytes, lines, name), detail: error.textWithoutPlace)
        }
    }

    /// The line and column of a byte.
    func place(_ offset: Int) -> FilePlace { Self.place(offset, values.bytes, lines, name) }

    private static func place(_ offset: Int, _ bytes: [UInt8], _ lines: [Int], _ name: String) -> FilePlace {
        var (low, high) = (0, lines.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if lines[middle] <= offset { low = middle } else { high = middle }
        }
        let before = bytes[lines[low]..<min(max(offset, lines[low]), bytes.count)]
        return FilePlace(file: name, line: low + 1, column: 1 + before.count { !UTF8.isContinuation($0) })
    }
}

extension JSONFile {
    /// Reads a file; `-` is standard input.
    ///
    /// - Throws: ``CommandError`` 64 naming the file, and line and column of what is no JSON.
    init(_ path: String, purpose: String) throws(CommandError) {
        let bytes = try InputFile.read(path, purpose: purpose)
        do throws(Fault) {
            try self.init(bytes, of: path)
        } catch {
            throw CommandError(.usage, "\(purpose) \(error)")
        }
    }
}

extension MapFile {
    /// The entries of a document.
    ///
    /// - Throws: ``CommandError`` 64 when it can't be read or is no JSON; ``Failure`` where an agent would refuse it.
    static func entries(_ file: String) throws -> [RelocationEntry] {
        try entries(JSONFile(file, purpose: "map file").json)
    }
}
