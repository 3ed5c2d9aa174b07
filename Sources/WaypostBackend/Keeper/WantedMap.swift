import Waypost
import WaypostMessages

/// A map that is to be in force at an agent or a group; see ``Backend/keep(_:buffer:)``.
public struct WantedMap: Sendable {
    let audience: Audience
    let payload: [UInt8]
    let revision: Int64
    let digest: String

    /// - Parameters:
    ///   - file: A map with a `rev`, or what was signed of one.
    ///   - audience: The name of an agent; or `@` and that of a group, such as `@lobby` or `@all`.
    ///   - name: What errors call the file.
    /// - Throws: ``BackendError`` of kind `invalid` when it is no map with a revision, or one for others.
    public init(file: [UInt8], for audience: String, name: String) throws(BackendError) {
        guard let audience = Audience(audience) else {
            throw BackendError(.invalid, "\(name): \(audience.quoted) is no agent and no @group")
        }
        let relocation = try Relocation(file: file, name: name)
        guard relocation.kind == .map, let document = relocation.document, let revision = document.revision
        else { throw BackendError(.invalid, "\(name) is not a whole map with a rev") }
        if let named = document.audience, named != audience.description {
            throw BackendError(.invalid, "\(name) is for \(named), not for \(audience)")
        }
        self.audience = audience
        payload = file
        self.revision = revision
        digest = relocation.digest
    }

    /// The name of its layer on the wire.
    var layer: String { if case .agent = audience { "agent" } else { audience.description } }
}

/// What is to be said while maps are kept; an agent stands there by its name, a group as `@` and its name.
public enum KeeperNews: Sendable, Hashable {
    /// A map was published again.
    case published(topic: String)
    /// A newer map than the wanted one is there, which is left alone.
    case overtaken(String, revision: Int64, wanted: Int64)
    /// No agent has spoken for that name or group, so its map is not published yet.
    case unheard(String)
    /// There is a connection again.
    case connected
}
