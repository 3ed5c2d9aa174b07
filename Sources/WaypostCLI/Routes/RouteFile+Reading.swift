import Waypost
import WaypostBackend

extension RouteFile {
    /// Reads a file; `-` is standard input.
    ///
    /// - Throws: ``CommandError`` 64 naming the file, the entry and the field.
    init(_ file: String) throws(CommandError) {
        let source = try JSONFile(file, purpose: "routes file")
        do throws(Fault) {
            try self.init(source)
        } catch {
            throw CommandError(.usage, "routes file \(error)")
        }
    }

    /// The routes whose converters are known here; the others are named on standard error.
    static func known(
        _ routes: [RouteDescription], _ configuration: RouterConfiguration, notesMissing: Bool = true
    ) -> [RouteDescription] {
        routes.filter { route in
            guard let name = route.missingConverter(configuration) else { return true }
            guard notesMissing else { return false }
            Terminal.note("waypost: \(route.path) is left out: its converter \(name) is not known here")
            return false
        }
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
