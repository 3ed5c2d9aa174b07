import FoundationEssentials

/// A key in a file and the name that signatures give it: `ID=FILE`, or a file whose name is the name.
struct KeyFile {
    let id: String
    let path: String

    init(_ text: String) {
        if let mark = text.firstIndex(of: "="), mark != text.startIndex {
            id = String(text[..<mark])
            path = String(text[text.index(after: mark)...])
        } else {
            path = text
            let name = text.split(separator: "/").last.map(String.init) ?? text
            id = name.split(separator: ".").first.map(String.init) ?? name
        }
    }

    /// The text of a file that only we can write.
    ///
    /// - Throws: ``CommandError`` 64 naming the file.
    func read(purpose: String) throws(CommandError) -> String {
        String(decoding: try GuardedFile.read(path, purpose: purpose), as: UTF8.self)
    }

    /// The text of a file that others can't even read.
    ///
    /// - Throws: ``CommandError`` 64 naming the file.
    func readSecret(purpose: String) throws(CommandError) -> String {
        String(decoding: try GuardedFile.read(path, purpose: purpose, isSecret: true), as: UTF8.self)
    }
}
