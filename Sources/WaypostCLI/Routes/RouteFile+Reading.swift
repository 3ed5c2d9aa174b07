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
