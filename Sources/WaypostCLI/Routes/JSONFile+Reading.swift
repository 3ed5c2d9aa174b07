import WaypostBackend

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
