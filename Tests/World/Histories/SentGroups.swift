import Waypost
import WaypostMessages

/// The documents of its groups that people sent to an agent, and what it said of them.
struct SentGroups: Codable {
    private struct Document: Codable {
        let revision: Int64
        let groups: [String]
    }

    /// Those of its own settings.
    static let own = ["fleet", "home"]
    /// Those that documents take it out of, or into.
    static let names = ["home", "night", "day"]

    /// Whether no document counts.
    let isFixed: Bool
    /// Those that may be in force, by the digests of what was sent.
    private var documents: [String: Document] = [:]
    /// The last that was sent of each revision.
    private var sent: [Int64: String] = [:]
    private var last: Int64 = 0
    /// The one that the agent said it has in force.
    private(set) var inForce: Int64 = 0
    private var digest = ""
    /// Those that it said it is in.
    private(set) var groups = own

    init(isFixed: Bool = false) { self.isFixed = isFixed }

    /// The newest that may be in force.
    private var newest: Int64 { sent.keys.max() ?? 0 }
    /// What was sent last and is not in force; nil when nothing is missing.
    var waiting: String? { isFixed || inForce >= newest ? nil : sent[newest] }

    // MARK: What is sent

    /// The next document; several of one revision where two people write at once.
    ///
    /// - Parameters:
    ///   - isIn: Whether the agent is to be in each of ``names``.
    ///   - isSame: Whether it has the revision of the one before.
    mutating func next(_ isIn: [Bool], isSame: Bool = false) -> (revision: Int64, text: String) {
        if !isSame || last == 0 { last += 1 }
        return (last, Self.text(last, isIn))
    }

    /// What is published of it.
    mutating func published(_ revision: Int64, _ isIn: [Bool], _ payload: String) {
        let digest = SHA256.label(SHA256.digest(of: Array(payload.utf8)))
        let added = zip(Self.names, isIn).filter { $0.1 && !Self.own.contains($0.0) }.map(\.0)
        let groups =
            Self.own.filter { name in !zip(Self.names, isIn).contains { $0 == (name, false) } } + added
        documents[digest] = Document(revision: revision, groups: groups)
        sent[revision] = payload
    }

    /// One that is to be refused, in one of four ways.
    mutating func spoiled(_ way: Int, _ isIn: [Bool]) -> String {
        last += 1
        switch way {
        case 0: return Self.text(last, isIn, more: "all")
        case 1: return Self.text(last, isIn, audience: "k2")
        // As new as the one in force, and another; or older.
        case 2 where inForce > 0: return Self.text(inForce, isIn, more: "late-\(last)")
        case 3 where inForce > 1: return Self.text(inForce - 1, isIn, more: "late-\(last)")
        default: return Self.text(last, isIn, more: "two words")
        }
    }

    /// A good one, which is to be refused for who sends it.
    mutating func unsigned(_ isIn: [Bool]) -> String {
        last += 1
        return Self.text(last, isIn)
    }

    private static func text(
        _ revision: Int64, _ isIn: [Bool], audience: String = "k1", more: String? = nil
    ) -> String {
        func list(_ names: [String]) -> String { names.map { "\"\($0)\"" }.joined(separator: ",") }
        let pairs = zip(names, isIn)
        let added = pairs.filter { $0.1 && !own.contains($0.0) }.map(\.0) + (more.map { [$0] } ?? [])
        let removed = pairs.filter { !$0.1 && own.contains($0.0) }.map(\.0)
        return #"{"type":"groups","rev":\#(revision),"aud":"\#(audience)","add":[\#(list(added))],"#
            + #""remove":[\#(list(removed))],"by":"people"}"#
    }

    /// Whether a command for a group may run that was sent when this revision was in force, or after it.
    func mayReach(_ group: String, since revision: Int64) -> Bool {
        if isFixed || revision == 0, Self.own.contains(group) { return true }
        return !isFixed && documents.values.contains { $0.revision >= revision && $0.groups.contains(group) }
    }

    // MARK: What is said

    /// The agent says in its health which groups it is in: law 5.
    mutating func heard(_ health: JSONValue) throws(People.Breach) {
        let said = health["groups"]?.arrayValue?.compactMap(\.stringValue) ?? []
        let membership = health["membership"]
        guard let revision = membership?["rev"]?.intValue, let digest = membership?["digest"]?.stringValue
        else {
            guard inForce == 0, said == Self.own else {
                throw People.Breach(law: 5, text: "it is in \(said), and had the document \(inForce)")
            }
            return
        }
        guard let document = documents[digest], document.revision == revision, !isFixed else {
            throw People.Breach(
                law: 5, text: "a document of groups is in force that must be refused: \(revision)")
        }
        guard revision > inForce || revision == inForce && digest == self.digest else {
            throw People.Breach(
                law: 5, text: "the document of groups \(revision) is in force, and \(inForce) was before")
        }
        guard said == document.groups else {
            throw People.Breach(law: 5, text: "it is in \(said), and \(revision) says \(document.groups)")
        }
        (inForce, self.digest, groups) = (revision, digest, said)
    }
}
