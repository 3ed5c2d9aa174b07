package import Waypost

extension MapDocument {
    /// What a receiver takes.
    package struct Rules: Sendable {
        /// The longest document, its envelope included, in bytes.
        var maximumBytes: Int
        package var limits: JSONLimits
        package var trusted: TrustedKeys
        /// What a signed one must be of; nil for all but a command.
        package var type: String?

        package init(maximumBytes: Int, limits: JSONLimits, trusted: TrustedKeys, type: String? = nil) {
            self.maximumBytes = maximumBytes
            self.limits = limits
            self.limits.maximumBytes = maximumBytes
            self.trusted = trusted
            self.type = type
        }
    }

    /// Reads a document from its bytes, signed or not.
    ///
    /// - Throws: ``Failure``: 401 when it is not signed as it ought to be, 413 when it is too long, and what
    ///   ``init(map:)`` and ``init(patch:)`` throw.
    package init(_ bytes: [UInt8], isPatch: Bool, _ rules: Rules) throws(Failure) {
        guard bytes.count <= rules.maximumBytes else {
            throw Failure(.tooLarge, "a map has at most \(rules.maximumBytes) bytes; found \(bytes.count)")
        }
        let (json, signers) = try Self.unwrap(bytes, rules)
        self = isPatch ? try MapDocument(patch: json) : try MapDocument(map: json)
        self.signers = signers
        guard rules.trusted.arePinned else { return }
        guard audience != nil else {
            throw Failure(.badField, "aud is missing; a signed document must name its audience")
        }
        // Or what was signed as a patch could be delivered as a map, and a map as a patch.
        let type = isPatch ? "patch" : "map"
        guard json["type"]?.stringValue == type else {
            throw Failure(.badField, "type is missing; a signed document on this topic is of type \(type)")
        }
        // Only a revision distinguishes an old document from a new one.
        guard revision != nil else {
            throw Failure(
                .badField,
                isPatch
                    ? "base and rev are missing; a signed patch has both"
                    : "rev is missing; a signed map has a revision")
        }
    }

    /// The document, taken out of its envelope when it has one, and the trusted keys that signed it.
    static func unwrap(_ bytes: [UInt8], _ rules: Rules) throws(Failure) -> (
        JSONValue, signers: Set<VerifyingKey>
    ) {
        // A document in its envelope is one long text.
        var limits = rules.limits
        limits.maximumStringBytes = rules.maximumBytes
        let outer = try parse(bytes, limits)
        guard SignedEnvelope.isOne(outer) else {
            guard !rules.trusted.arePinned else {
                throw Failure(.unsigned, "documents must be signed; this one is not")
            }
            return (try parse(bytes, rules.limits), [])
        }
        let envelope = try SignedEnvelope(outer)
        guard envelope.payloadType != SignedEnvelope.commandType else {
            throw Failure(.badField, "payloadType is that of a command, not of a document")
        }
        if let type = rules.type, envelope.payloadType != type {
            throw Failure(.badField, "payloadType must be \(type) on this topic")
        }
        let signers = try rules.trusted.check(envelope)
        return (try parse(envelope.payload, rules.limits), signers)
    }

    private static func parse(_ bytes: [UInt8], _ limits: JSONLimits) throws(Failure) -> JSONValue {
        do {
            return try JSONValue(parsing: bytes, limits: limits)
        } catch {
            throw error.rejection
        }
    }
}
