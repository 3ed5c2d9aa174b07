package import Waypost

/// What the release role makes of an agent's groups: those that it is in besides its own, and those of its own that it is
/// not in.
package struct GroupsDocument: Sendable, Hashable {
    /// The longest document, its envelope included, in bytes.
    static let maximumBytes = 16_384
    /// The most groups that are added, and the most that are removed.
    package static let maximumNames = 32

    /// Only rises, across restarts.
    package var revision: Int64 = 0
    /// The agent; a signed document must name it.
    var audience: String?
    package var added: [String] = []
    package var removed: [String] = []
    /// Who wrote it, for people.
    var author: String?

    package init(
        revision: Int64, audience: String, added: [String], removed: [String], by author: String? = nil
    ) {
        (self.revision, self.audience, self.author) = (revision, audience, author)
        (self.added, self.removed) = (added, removed)
    }

    /// Reads a document from its bytes, signed or not.
    ///
    /// - Throws: ``Failure``: 401 when it is not signed as it ought to be, 413 when it is too long, 400 when it is no JSON,
    ///   422 naming the field.
    package init(
        _ bytes: [UInt8], for agent: String, trusted: TrustedKeys = .none, limits: JSONLimits
    ) throws(Failure) {
        guard bytes.count <= Self.maximumBytes else {
            throw Failure(
                .tooLarge,
                "a document of groups has at most \(Self.maximumBytes) bytes; found \(bytes.count)")
        }
        let (json, _) = try MapDocument.unwrap(
            bytes,
            MapDocument.Rules(
                maximumBytes: Self.maximumBytes, limits: limits, trusted: trusted,
                type: SignedEnvelope.groupsType))
        let fields = Fields(of: json)
        guard fields.other == nil, try fields.text("type") == "groups" else {
            throw Failure(.badField, "type must be groups on this topic")
        }
        try fields.checkVersion()
        try self.init(fields)
        guard audience == agent || audience == nil && !trusted.arePinned else {
            throw Failure(
                .badField,
                audience.map { "aud is \($0.quoted), the topic is \(agent)'s" }
                    ?? "aud is missing; a signed document must name its audience")
        }
    }

    /// The groups of an agent: its own in their order, without those that are removed, then those that are added.
    package func groups(over own: [String]) -> [String] {
        own.filter { !removed.contains($0) } + added.filter { !own.contains($0) }
    }
}

extension GroupsDocument: Payload {
    package init() {}

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.written("type", "groups")
        fields.required("rev", &revision, in: 1...Fields.largestInteger)
        fields.optional("aud", &audience)
        fields.groups("add", &added)
        fields.groups("remove", &removed)
        if let both = added.first(where: removed.contains) {
            fields.refuse("\(both.quoted) is in add and in remove")
        }
        fields.optional("by", &author)
        author = author?.cut(to: MapDocument.maximumAuthorBytes)
    }
}

extension PayloadFields {
    fileprivate mutating func groups(_ name: StaticString, _ names: inout [String]) {
        optional(name, &names)
        guard isReading, let found = self[name] else { return }
        let isGood =
            found.arrayValue?.count == names.count && names.count <= GroupsDocument.maximumNames
            && Set(names).count == names.count && names.allSatisfy(Name.isGroup)
        guard !isGood else { return }
        refuse(
            "\(name) must be an array of at most \(GroupsDocument.maximumNames) different groups, "
                + "each 1 to 64 characters of A-Z a-z 0-9 _ -, and not all")
    }
}
