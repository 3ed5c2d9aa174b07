package import Waypost

/// A JSON file that was read, and where its values stand.
package struct JSONFile {
    /// What is no JSON, and where.
    package struct Fault: Error, CustomStringConvertible {
        package var place: FilePlace
        package var detail: String
        package var description: String { "\(place): \(detail)" }
    }

    /// The file as it was given; `<stdin>` for standard input.
    package let name: String
    package let json: JSONValue
    package let values: JSONPlaces
    /// Where each line begins, in bytes.
    private let lines: [Int]

    /// Reads the bytes of a file.
    ///
    /// - Parameter path: The file as it was given; `-` is standard input.
    package init(_ bytes: [UInt8], of path: String) throws(Fault) {
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
    package func place(_ offset: Int) -> FilePlace { Self.place(offset, values.bytes, lines, name) }

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

/// A place in a file as editors and compilers name it: `maps/off.json:12:5`.
package struct FilePlace: Hashable {
    package var file: String
    /// From 1; nil for the file as a whole.
    package var line: Int?
    /// From 1, in Unicode scalars.
    package var column: Int?

    /// A place by its parts.
    package init(file: String, line: Int? = nil, column: Int? = nil) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// The name of a file in places; standard input has none.
    package static func name(_ file: String) -> String { file == "-" ? "<stdin>" : file }
}

extension FilePlace: CustomStringConvertible {
    package var description: String {
        ([file] + [line, column].compactMap { $0.map(String.init) }).joined(separator: ":")
    }
}
