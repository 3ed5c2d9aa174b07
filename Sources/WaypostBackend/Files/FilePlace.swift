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
