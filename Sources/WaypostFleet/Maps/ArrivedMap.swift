package import Waypost
package import WaypostMessages

/// A document that came for a layer: a map, a patch, or the candidate of a roll-out.
package struct ArrivedMap: Sendable {
    /// A key of ``MapLayers``, or ``MapRecord/candidateKey(of:)`` of one.
    package let key: String
    package let digest: [UInt8]
    let audience: Audience
    let payload: [UInt8]
    /// What it says, once it is read.
    package private(set) var document: MapDocument?
    /// Who published it: the keys that signed it can't be made up, what it says itself can.
    private(set) var author: String?

    package init(_ payload: [UInt8], on key: String, for audience: Audience) {
        (self.payload, self.key, self.audience) = (payload, key, audience)
        digest = SHA256.digest(of: payload)
    }

    /// The layer that it is the candidate of; nil for a map and a patch.
    package var candidateOf: String? { MapRecord.group(ofCandidate: key) }
    var isPatch: Bool { key == MapRecord.patchLayer }

    mutating func read(_ rules: MapDocument.Rules) throws(Failure) -> MapDocument {
        let document = try MapDocument(payload, isPatch: isPatch, rules)
        let keys = rules.trusted.names(of: document.signers).joined(separator: ", ")
        author =
            keys.isEmpty
            ? document.author ?? document.id : document.author.map { "\($0), signed by \(keys)" } ?? keys
        self.document = document
        return document
    }

    /// What is kept of it when it is refused.
    ///
    /// - Parameter layer: the name of the layer on the wire.
    package func refused(_ failure: Failure, on layer: String, at now: Int64) -> AppliedMap.Refused {
        AppliedMap.Refused(
            layer: layer, revision: document?.revision, digest: SHA256.label(digest), code: failure.code,
            detail: failure.detail, at: now)
    }
}
