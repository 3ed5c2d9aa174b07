import Waypost

/// The list of routes that TheRouter exports, as a file: `[{"path","class","priority"}]`; or a whole contract, as
/// `waypost describe --json` prints it.
enum RouteFile {
    /// The most routes of a file.
    private static let maximum = 1_000_000

    /// Reads it; what is listed twice is one route.
    ///
    /// - Throws: ``CommandError`` 64 naming the file, the entry and the field.
    static func read(_ file: String) throws(CommandError) -> RouterContract {
        let bytes = try InputFile.read(file, purpose: "routes file")
        var contract: RouterContract
        do {
            let json = try JSONValue(parsing: bytes, limits: .trustedFile)
            let list = json["routes"] ?? json
            guard list.arrayValue.map({ $0.count <= maximum }) ?? false else {
                throw CommandError(
                    .usage,
                    "routes file \(file) must be an array like [{\"path\":…,\"class\":…,\"priority\":0}], or a contract"
                )
            }
            contract = try RouterContract(json)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(.usage, "routes file \(file): \(error)")
        }
        // An export may list a route twice; that says nothing new.
        var seen: Set<RouteDescription> = []
        contract.routes.removeAll { !seen.insert($0).inserted }
        return contract
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
