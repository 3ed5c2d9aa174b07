import Waypost

/// The list of routes that TheRouter exports, as a file: `[{"path","class","priority"}]`.
enum RouteFile {
    /// The most routes of a file.
    private static let maximum = 1_000_000

    /// Reads the list; what is listed twice is one route.
    ///
    /// - Throws: ``CommandError`` 64 naming the file, the entry and the field.
    static func read(_ file: String) throws(CommandError) -> [RouteDescription] {
        let bytes = try InputFile.read(file, purpose: "routes file")
        let listed: [RouteDescription]
        do {
            let json = try JSONValue(parsing: bytes, limits: .trustedFile)
            guard json.arrayValue.map({ $0.count <= maximum }) ?? false else {
                throw CommandError(
                    .usage,
                    "routes file \(file) must be an array like [{\"path\":…,\"class\":…,\"priority\":0}]")
            }
            listed = try RouteDescription.list(json)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(.usage, "routes file \(file): \(error)")
        }
        // An export may list a route twice; that says nothing new.
        var seen: Set<RouteDescription> = []
        return listed.filter { seen.insert($0).inserted }
    }

    /// The routes whose converters are known here; the others are named on standard error.
    static func known(_ routes: [RouteDescription], _ configuration: RouterConfiguration)
        -> [RouteDescription]
    {
        routes.filter { route in
            guard let name = route.missingConverter(configuration) else { return true }
            Terminal.note("waypost: \(route.path) is left out: its converter \(name) is not known here")
            return false
        }
    }
}
