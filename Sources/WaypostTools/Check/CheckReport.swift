package import Waypost

/// The result of a check of routes and maps.
public struct CheckReport: Sendable, Hashable {
    /// One mistake.
    public struct Finding: Sendable, Hashable {
        /// Its kind.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            /// Listed, but no such route is registered.
            case declaredNotRegistered
            /// Registered, but not listed.
            case registeredNotDeclared
            /// Listed with another class than the registered one.
            case wrongClass
            /// Listed with another priority than the registered one.
            case wrongPriority
            /// What a list says of a route, a method or the router is not so: a parameter, a type, metadata, a setting.
            case changed
            /// There is more than a list says, and what it says is so, such as a new parameter that may be left out; no
            /// mistake.
            case extended
            /// A module could not be registered or set up, or its set-up takes long.
            case failedModule
            /// Two routes have patterns that match exactly the same URLs.
            case conflict
            /// A pattern that is not valid.
            case badPattern
            /// A redirect to a URL that no route matches.
            case deadRedirect
            /// A route that nothing can ever open: another is always tried first.
            case unreachable
            /// A type needs a property that no placeholder gives, while one of its route is read by none: most likely one
            /// is meant by the other.
            case unreadPlaceholder
            /// A route that a redirect leads away from: what maps are for, so it is no mistake.
            case redirected
            /// Routes without a scheme that open only with some, because other routes name schemes; no mistake.
            case limitedSchemes
            /// The web path names a URL that no route takes, so that web URLs lead nowhere.
            case deadWebPath
            /// An interceptor whose scope sees no route, or names one that is not there.
            case deadScope
            /// A route with a converter that this process does not have, so that its URLs are not known; no mistake.
            case unknownConverter
            /// A map names a destination that is not registered.
            case unknownClass
            /// A map deletes a route that does not exist.
            case deadDeletion
            /// A map switches off, answers, replaces or gates what is not there, or what does not fit.
            case deadEntry
            /// A redirect whose origin no URL has that was meant.
            case deadOrigin
            /// A map takes a redirect away that there is not.
            case deadReset
            /// A map entry whose condition can't be used, or never holds, or holds only where another goes first.
            case neverApplies
            /// Two map entries of one origin whose conditions can hold together, so that the first goes first; or two of
            /// one path, of which the last counts.
            case overlap
            /// Redirects form a cycle, or there are too many in a row.
            case cycle
            /// A map entry is refused for another reason.
            case refused
            /// What is a placeholder in patterns of other routers, and plain text here; no mistake.
            case foreignSyntax
            /// Two patterns that look alike and take different URLs, for their letters are composed in one and not in the
            /// other (Unicode normalization); no mistake.
            case lookAlike
            /// A name, pattern or URL with a character that no one sees: it is another one than it looks.
            case unseenCharacter
            /// A route that is listed twice, alike; no mistake.
            case duplicate
            /// A field of a list of routes that is not read; no mistake.
            case unreadField
            /// A command of a backend does not fit the routes or services.
            case badCommand
            /// A command that fits but is probably a mistake, or of which it is not known whether it fits.
            case doubtfulCommand

            /// What findings of this kind are about, in one sentence.
            package var summary: String {
                switch self {
                case .declaredNotRegistered: "A listed route is not registered."
                case .registeredNotDeclared: "A registered route is not listed."
                case .wrongClass: "A route is listed with another class."
                case .wrongPriority: "A route is listed with another priority."
                case .changed: "What a list says of a route, a method or the router is not so."
                case .extended: "There is more than a list says, and what it says is so."
                case .failedModule: "A module could not be registered or set up, or its set-up takes long."
                case .conflict: "Two routes have patterns that match the same URLs."
                case .badPattern: "A pattern is not valid."
                case .deadRedirect: "A redirect leads to a URL that no route matches."
                case .unreachable: "A route is never opened, because another is tried first."
                case .unreadPlaceholder: "A placeholder is read by no property, and a property is missing."
                case .redirected: "A route is not opened, because a redirect leads away from it."
                case .limitedSchemes: "Routes without a scheme open only with some schemes."
                case .deadWebPath: "The route that web URLs go to is not registered."
                case .deadScope: "The scope of an interceptor matches no route."
                case .unknownConverter: "A route is not checked, because its converter is not known here."
                case .unknownClass: "A map names a destination that is not registered."
                case .deadDeletion: "A map deletes a route that does not exist."
                case .deadEntry: "A map switches off, answers, replaces or gates what is not there."
                case .deadOrigin: "The origin of a redirect matches none of the URLs that were meant."
                case .deadReset: "A map resets a path that nothing redirects."
                case .neverApplies: "The condition of a map entry can never be true."
                case .overlap: "Two map entries are about the same path, and their conditions overlap."
                case .cycle: "Redirects form a cycle, or there are too many in a row."
                case .refused: "An agent refuses the map."
                case .foreignSyntax: "Placeholders of another router are plain text here."
                case .lookAlike: "Two patterns look alike and take different URLs."
                case .unseenCharacter: "A text has a character that no one sees."
                case .duplicate: "A route is listed twice."
                case .unreadField: "A field of a list of routes is not read."
                case .badCommand: "A command does not fit the routes or services."
                case .doubtfulCommand: "A command is probably a mistake."
                }
            }

            /// Whether an agent refuses the whole map for it.
            package var isRefusal: Bool { self == .refused || self == .cycle }

            /// Whether something should be done about it; the others are only good to know.
            public var isMistake: Bool {
                switch self {
                case .redirected, .limitedSchemes, .unknownConverter, .doubtfulCommand, .foreignSyntax,
                    .lookAlike, .duplicate, .unreadField, .extended:
                    false
                default: true
                }
            }
        }

        /// Where a finding is in what was checked.
        package enum Place: Sendable, Hashable {
            /// A route of the list, from 0.
            case route(Int)
            /// A relocation document, and the member of it.
            case map(layer: String, field: String?)
            /// An entry of a relocation document, from 0, and the member of it.
            case entry(layer: String, index: Int, field: String?)
        }

        /// Its kind.
        public var kind: Kind
        /// The pattern, URL or class it is about.
        public var subject: String
        /// One sentence.
        public var detail: String
        /// Whether callers that go by the list that was compared no longer get what it says.
        public package(set) var breaksCallers = false
        /// Where it is, as far as that is known.
        package var place: Place?
        /// The other places that it is about.
        package var others: [Place] = []
        /// What the sentence says of the entry; the whole sentence when it is about no entry.
        package var reason: String
        /// The origin or path of the entry, as far as it has one; nil when it is about no entry.
        package var entrySubject: String?
        /// The code with which an agent refuses the document; nil when none would.
        package var code: Code?

        /// A finding by its parts.
        package init(
            kind: Kind, subject: String, detail: String, place: Place? = nil, others: [Place] = [],
            code: Code? = nil
        ) {
            self.kind = kind
            self.subject = subject
            self.detail = detail
            self.place = place
            self.others = others
            self.code = code
            reason = detail
        }

        /// One about an entry.
        init(
            _ kind: Kind, _ place: RelocationPlan.Place, about text: String, _ reason: String,
            subject: String? = nil, field: String? = nil, others: [RelocationPlan.Place] = [],
            code: Code? = nil
        ) {
            self.init(
                kind: kind, subject: subject ?? text,
                detail: "\(place.text)\(text.isEmpty ? "" : " (\(text))"): \(reason)",
                place: .entry(layer: place.layer, index: place.index, field: field),
                others: others.map { .entry(layer: $0.layer, index: $0.index, field: field) }, code: code)
            self.reason = reason
            entrySubject = text
        }

        /// Its sentence, and whether it breaks callers.
        package var sentence: String { breaksCallers ? "breaks callers: \(detail)" : detail }

        /// Its kind, subject and sentence, whether it is a mistake or breaks callers, and the entry, from 1.
        package var json: [String: JSONValue] {
            var members: [String: JSONValue] = [
                "kind": .string(kind.rawValue), "subject": .string(subject), "detail": .string(detail),
                "mistake": .bool(kind.isMistake),
            ]
            if breaksCallers { members["breaksCallers"] = true }
            if case .entry(_, let index, _) = place { members["entry"] = .int(Int64(index + 1)) }
            if let code { members["code"] = .string(code.name) }
            return members
        }
    }

    /// What was found: the routes' first, and then the maps' in the order of their entries.
    public var findings: [Finding]

    /// Whether there is no mistake; what is only good to know does not count.
    public var isClean: Bool { !findings.contains(where: \.kind.isMistake) }

    /// The findings of one kind.
    public func findings(_ kind: Finding.Kind) -> [Finding] { findings.filter { $0.kind == kind } }

    /// `[{"kind","subject","detail","mistake","entry"}]`.
    package var json: JSONValue { .array(findings.map { .object($0.json) }) }

    /// One line a finding: its kind, whether it breaks callers, and its sentence.
    public var text: String {
        findings.isEmpty
            ? "nothing wrong\n" : findings.map { "\($0.kind.rawValue): \($0.sentence)\n" }.joined()
    }
}
