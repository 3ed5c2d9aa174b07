/// One entry of a relocation map: TheRouter's dictionary, or one of the kinds that have names.
public struct RelocationEntry: Sendable, Hashable {
    /// What the entry does.
    public enum Kind: Sendable, Hashable {
        /// `routerType` 1: opening the origin opens the target.
        case replace(origin: String, target: String)
        /// `routerType` 2: a new path for a destination known by that name.
        case add(path: String, className: String)
        /// `routerType` 3: that exact pattern no longer opens.
        case delete(path: String)
        /// `routerType` 4: removes the origin's redirect; with another target it acts as a replace.
        case reset(origin: String, target: String?)
        /// `off`: pages, a service or a method end with this sentence and code; 503 `SWITCHED_OFF` unless set.
        case off(Subject, reason: String? = nil, code: Code = .switchedOff)
        /// `on`: what other entries say of pages, a service or a method by `off`, `answer`, `replace` or `gate` does not count.
        case on(Subject)
        /// `answer`: a method is not run, and returns this value.
        case answer(Method, with: JSONValue)
        /// `replace`: another method of the same shape is run.
        case replaceMethod(Method, by: Method)
        /// `gate`: opens of these pages go through the program's ``Router/gate(_:deadline:_:)-swift.method`` of that name.
        case gate(pages: String, through: String)
        /// `gate` without a name: opens of these pages are refused with this sentence, as by an interceptor.
        case refuse(pages: String, reason: String)
    }

    /// What the entry does.
    public var kind: Kind
    /// Parameters that the entry adds to an open.
    public var params: [String: JSONValue]
    /// The URLs to which a redirect does not apply: patterns in the language of routes, at most 64.
    public var except: [String]
    /// When the entry applies: an object as the wire protocol has it; nil for always.
    ///
    /// What it is made of is checked when a map is put in force: an entry whose condition is not understood is inactive.
    public var when: JSONValue?

    /// The most patterns of ``except``.
    static let maximumExceptions = 64
    /// The most entries of one document that are about one origin or path.
    static let maximumAlternatives = 64

    /// An entry by its parts.
    public init(
        _ kind: Kind, params: [String: JSONValue] = [:], except: [String] = [], when: JSONValue? = nil
    ) {
        self.kind = kind
        self.params = params
        self.except = except
        self.when = when
    }

    /// Reads one entry.
    ///
    /// - Throws: `RelocationError` 422 naming index and field.
    package init(_ json: JSONValue, index: Int = 0) throws(RelocationError) {
        var refusals = RelocationRefusals()
        guard let entry = try RelocationEntry(json, index: index, &refusals) else {
            throw RelocationError(.badField, index: index, detail: "the entry can't be read")
        }
        self = entry
    }

    /// Reads one entry; both TheRouter's spelling `orginPath` and `originPath` are accepted.
    ///
    /// - Parameters:
    ///   - json: The entry.
    ///   - index: Its place in its document, for the error.
    ///   - refusals: Gets what is refused.
    /// - Throws: `RelocationError` 422 naming index and field, unless all refusals are kept; the entry is nil then.
    init?(
        _ json: JSONValue, index: Int, _ refusals: inout RelocationRefusals
    ) throws(RelocationError) {
        guard case .object(let members) = json else {
            try refusals.add(
                RelocationError(
                    .badField, index: index, detail: "the entry is \(json.kind); it must be an object"))
            return nil
        }
        var reader = RelocationEntryReader(members, index: index)
        let entry = reader.entry()
        for error in reader.errors { try refusals.add(error) }
        guard let entry else { return nil }
        self = entry
    }

    /// Whether it redirects, or takes a redirect away.
    package var isRedirect: Bool {
        switch kind {
        case .replace, .reset: true
        default: false
        }
    }

    /// The origin, the path, the pages or the method that it is about, as it is written.
    package var subjectPath: String {
        switch kind {
        case .replace(let path, _), .add(let path, _), .delete(let path), .reset(let path, _): path
        default: subject?.text ?? ""
        }
    }

    /// What it does, where it does not and when, for people: `scheme://a → scheme://b, except scheme://a/help`.
    package var text: String {
        let more =
            (except.isEmpty ? "" : ", except \(except.joined(separator: ", "))")
            + (when.map { ", when \($0.text)" } ?? "")
        return switch kind {
        case .replace(let origin, let target), .reset(let origin, let target?): "\(origin) → \(target)\(more)"
        case .add(let path, let className): "add \(path) for \(className)\(more)"
        case .delete(let path): "delete \(path)\(more)"
        case .reset(let origin, nil): "reset \(origin)\(more)"
        case .off(let subject, let reason, let code):
            "off \(subject.text)\(reason.map { ": \($0)" } ?? "")\(code == .switchedOff ? "" : " (\(code))")\(more)"
        case .on(let subject): "on \(subject.text)\(more)"
        case .answer(let method, let value): "answer \(method.text) with \(value.text.cut(to: 120))\(more)"
        case .replaceMethod(let method, let other): "\(method.text) → \(other.text)\(more)"
        case .gate(let pages, let name): "gate \(pages) through \(name)\(more)"
        case .refuse(let pages, let reason): "refuse \(pages): \(reason)\(more)"
        }
    }

    /// A URL that its origin or path takes; nil where it is a mistake, or a converter of the program decides.
    package var sample: String? {
        switch kind {
        case .replace(let origin, _), .reset(let origin, _):
            (try? RelocationOrigin(origin, index: 0, .ofDocuments) as RelocationOrigin)?.sample?.text
        case .add(let path, _), .delete(let path): Self.sample(of: path)
        default:
            pages.flatMap {
                (try? RelocationOrigin($0, index: 0, .ofDocuments) as RelocationOrigin)?.sample?.text
            }
        }
    }

    /// A URL that a pattern takes.
    package static func sample(of pattern: String) -> String? {
        (try? RoutePattern(pattern) as RoutePattern)?.sample?.text
    }

    /// The entry as a map has it: TheRouter's keys, `orginPath` in its spelling, and names for the other kinds.
    package var json: JSONValue {
        var members: [String: JSONValue]
        switch kind {
        case .replace(let origin, let target):
            members = ["routerType": 1, "orginPath": .string(origin), "targetPath": .string(target)]
        case .add(let path, let className):
            members = ["routerType": 2, "path": .string(path), "className": .string(className)]
        case .delete(let path): members = ["routerType": 3, "path": .string(path)]
        case .reset(let origin, let target):
            members = ["routerType": 4, "orginPath": .string(origin)]
            if let target { members["targetPath"] = .string(target) }
        default: members = namedMembers
        }
        if !params.isEmpty { members["params"] = .object(params) }
        if let when { members["when"] = when }
        if !except.isEmpty { members["except"] = .array(except.map(JSONValue.string)) }
        return .object(members)
    }

    /// Reads the entries of one document: an array, or one entry alone.
    ///
    /// - Throws: `RelocationError`: 413 for more than `maximum` entries, 422 for a bad entry, for an origin or an
    ///   added path that occurs twice, for a redirect of a subtree on one side only.
    public static func list(
        _ json: JSONValue, maximum: Int = 2000
    ) throws(RelocationError) -> [RelocationEntry] {
        var refusals = RelocationRefusals()
        return try list(json, maximum: maximum, &refusals).compactMap(\.self)
    }

    /// The same with what is done about what is refused; an entry that is refused is nil where that is kept.
    package static func list(
        _ json: JSONValue, maximum: Int, _ refusals: inout RelocationRefusals
    ) throws(RelocationError) -> [RelocationEntry?] {
        var elements: [JSONValue] = []
        switch json {
        case .array(let array): elements = array
        case .object: elements = [json]
        default:
            try refusals.add(
                RelocationError(
                    .badField, field: "entries", detail: "entries is \(json.kind); it must be an array"))
        }
        if elements.count > maximum {
            try refusals.add(
                RelocationError(
                    .tooLarge, field: "entries",
                    detail: "the document has \(elements.count) entries; at most \(maximum) are accepted"))
            // Each costs a look at the patterns of the others.
            elements.removeSubrange(maximum...)
        }
        var entries: [RelocationEntry?] = []
        entries.reserveCapacity(elements.count)
        var subjects = DocumentSubjects()
        for (index, element) in elements.enumerated() {
            guard let entry = try RelocationEntry(element, index: index, &refusals) else {
                entries.append(nil)
                continue
            }
            let isGood: ()? = try refusals.attempt { () throws(RelocationError) in
                try subjects.add(entry, index)
            }
            entries.append(isGood == nil ? nil : entry)
        }
        return entries
    }
}

/// What the entries of one document are about, by what they do to it.
private struct DocumentSubjects {
    private var origins = RelocationSubjects(field: "orginPath", verb: "is the origin of")
    private var paths = RelocationSubjects(field: "path", verb: "is added by")
    private var pages = RelocationSubjects(field: "path", verb: "is switched off or gated by")
    private var calls = RelocationSubjects(field: "service", verb: "is the subject of")

    mutating func add(_ entry: RelocationEntry, _ index: Int) throws(RelocationError) {
        let isDefault = entry.when == nil
        switch entry.kind {
        case .replace(let origin, _), .reset(let origin, _):
            guard let key = try Self.key(of: entry, index) else { return }
            try origins.add(origin, key, isDefault: isDefault, index)
        case .add(let path, _):
            try paths.add(path, RelocationPath.Key(of: path), isDefault: isDefault, index)
        case .delete: return
        default:
            if let path = entry.pages {
                guard let key = try Self.key(of: entry, index) else { return }
                try pages.add(path, key, isDefault: isDefault, index)
            } else if let text = entry.subject?.text {
                try calls.add(text, RelocationPath.Key(of: text), isDefault: isDefault, index)
            }
        }
    }

    private static func key(
        of entry: RelocationEntry, _ index: Int
    ) throws(RelocationError) -> RelocationPath.Key? {
        let place = RelocationPlan.Place(layer: "", index: index)
        return try RelocationRule(entry, place, .ofDocuments)?.origin.key
    }
}

/// What the entries of one document are about: each thing without a condition once.
private struct RelocationSubjects {
    let field: String
    let verb: String
    private var entries: [RelocationPath.Key: (count: Int, plain: Int?)] = [:]

    init(field: String, verb: String) {
        self.field = field
        self.verb = verb
    }

    mutating func add(
        _ text: String, _ key: RelocationPath.Key, isDefault: Bool, _ index: Int
    ) throws(RelocationError) {
        var known = entries[key] ?? (0, nil)
        if isDefault, let earlier = known.plain {
            throw RelocationError(
                .badField, layer: nil, index: index, field: field,
                detail: "\(RouteURL.withoutValues(text)) \(verb) entry \(earlier + 1) already",
                others: [.init(layer: "", index: earlier)])
        }
        known.count += 1
        guard known.count <= RelocationEntry.maximumAlternatives else {
            throw RelocationError(
                .tooLarge, index: index, field: field,
                detail: "more than \(RelocationEntry.maximumAlternatives) entries are about "
                    + RouteURL.withoutValues(text))
        }
        if isDefault { known.plain = index }
        entries[key] = known
    }
}

// Beside the cases, for a key of the program as well as for the text of a map.
extension RelocationEntry.Kind {
    /// ``replace(origin:target:)-swift.enum.case`` of keys.
    public static func replace(origin: RouteKey, target: RouteKey) -> RelocationEntry.Kind {
        .replace(origin: origin.rawValue, target: target.rawValue)
    }

    /// ``add(path:className:)-swift.enum.case`` of a key.
    public static func add(path: RouteKey, className: String) -> RelocationEntry.Kind {
        .add(path: path.rawValue, className: className)
    }

    /// ``delete(path:)-swift.enum.case`` of a key.
    public static func delete(path: RouteKey) -> RelocationEntry.Kind { .delete(path: path.rawValue) }

    /// ``reset(origin:target:)-swift.enum.case`` of keys.
    public static func reset(origin: RouteKey, target: RouteKey?) -> RelocationEntry.Kind {
        .reset(origin: origin.rawValue, target: target?.rawValue)
    }
}
