import Waypost
import WaypostBackend

extension MapFile {
    /// The entries of a document.
    ///
    /// - Throws: ``CommandError`` 64 when it can't be read or is no JSON; ``Failure`` where an agent would refuse it.
    static func entries(_ file: String) throws -> [RelocationEntry] {
        try entries(JSONFile(file, purpose: "map file").json)
    }
}
