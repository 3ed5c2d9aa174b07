/// A place in a file as editors and compilers name it: `maps/off.json:12:5`.
struct FilePlace: Hashable {
    var file: String
    /// From 1; nil for the file as a whole.
    var line: Int?
    /// From 1, in Unicode scalars.
    var column: Int?

    /// The name of a file in places; standard input has none.
    static func name(_ file: String) -> String { file == "-" ? "<stdin>" : file }
}

extension FilePlace: CustomStringConvertible {
    var description: String {
        ([file] + [line, column].compactMap { $0.map(String.init) }).joined(separator: ":")
    }
}
