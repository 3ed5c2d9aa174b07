import Glibc
import Waypost

/// A folder that is there whole, with all its files, or not at all.
struct NewFolder {
    let path: String

    /// - Throws: ``CommandError`` 1 naming the file and what the system says; then nothing of the folder is there.
    func write(_ files: [(path: String, text: String)]) throws(CommandError) {
        var status = stat()
        guard lstat(path, &status) != 0 else {
            throw CommandError(.failed, "make \(path): it is there already, and is left as it is")
        }
        let draft = OutputFile.draft(of: path)
        var made: [String] = []
        do throws(CommandError) {
            for folder in [draft] + Self.folders(of: files).map({ "\(draft)/\($0)" }) {
                guard mkdir(folder, 0o755) == 0 else { throw fault("make", folder, draft) }
                made.append(folder)
            }
            for file in files {
                let whole = "\(draft)/\(file.path)"
                let descriptor = open(whole, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
                guard descriptor >= 0 else { throw fault("write", whole, draft) }
                made.append(whole)
                var error = Descriptor.write(Array(file.text.utf8), to: descriptor)
                // On a full disk some systems say it only here.
                if close(descriptor) != 0, error == 0 { error = errno }
                guard error == 0 else { throw fault("write", whole, draft, error) }
            }
            guard rename(draft, path) == 0 else { throw fault("make", draft, draft) }
        } catch {
            for path in made.reversed() { remove(path) }
            throw error
        }
    }

    private func fault(_ doing: String, _ place: String, _ draft: String, _ error: Int32 = errno)
        -> CommandError
    {
        CommandError(
            .failed, "\(doing) \(path)\(place.dropFirst(draft.count)): \(Descriptor.text(of: error))")
    }

    /// Those that files are in, the outer ones first.
    private static func folders(of files: [(path: String, text: String)]) -> [String] {
        var folders: Set<String> = []
        for file in files {
            for slash in file.path.indices where file.path[slash] == "/" {
                folders.insert(String(file.path[..<slash]))
            }
        }
        return folders.sorted()
    }
}
