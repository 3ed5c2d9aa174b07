extension RelocationEntry {
    /// An exposed method, by the names that callers use.
    public struct Method: Sendable, Hashable {
        /// The exposed name of its service.
        public var service: String
        /// Its Swift name (`add(a:b:)`), its base where unambiguous, or its Objective-C selector.
        public var name: String

        /// A method by its names.
        public init(_ service: String, _ name: String) {
            self.service = service
            self.name = name
        }

        /// `CalculatorService.add(a:b:)`.
        package var text: String { "\(service).\(name)" }
    }

    /// What a map switches off, and on again.
    public enum Subject: Sendable, Hashable {
        /// The pages of a URL, of all below one (`/**`), or of a pattern in the language of routes.
        case pages(String)
        /// All methods of a service.
        case service(String)
        /// One method.
        case method(Method)

        /// The pattern, the service or the method, as it is written.
        package var text: String {
            switch self {
            case .pages(let text), .service(let text): text
            case .method(let method): method.text
            }
        }
    }

    /// The kinds that have names, as `routerType` of an entry; a program that does not know one refuses its map.
    package static let namedKinds = ["off", "on", "answer", "replace", "gate"]

    /// The name of its kind; nil for TheRouter's numbers.
    package var kindName: String? {
        switch kind {
        case .replace, .add, .delete, .reset: nil
        case .off: "off"
        case .on: "on"
        case .answer: "answer"
        case .replaceMethod: "replace"
        case .gate, .refuse: "gate"
        }
    }

    /// What an entry of a named kind is about; nil for the others.
    package var subject: Subject? {
        switch kind {
        case .replace, .add, .delete, .reset: nil
        case .off(let subject, _, _), .on(let subject): subject
        case .answer(let method, _), .replaceMethod(let method, _): .method(method)
        case .gate(let pages, _), .refuse(let pages, _): .pages(pages)
        }
    }

    /// The pages that an entry of a named kind is about; nil for calls, and for the other kinds.
    package var pages: String? { if case .pages(let path) = subject { path } else { nil } }

    /// Its members beside those of all kinds; those of a named kind.
    var namedMembers: [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        members["routerType"] = kindName.map { .string($0) }
        switch subject {
        case .pages(let path): members["path"] = .string(path)
        case .service(let name): members["service"] = .string(name)
        case .method(let method): members.merge(method.members) { $1 }
        case nil: break
        }
        switch kind {
        case .off(_, let reason, let code):
            members["reason"] = reason.map { .string($0) }
            guard code != .switchedOff else { break }
            members["code"] = .int(Int64(code.number))
            members["name"] = .string(code.name)
        case .answer(_, let value): members["value"] = value
        case .replaceMethod(_, let other): members["by"] = .object(other.members)
        case .gate(_, let name): members["gate"] = .string(name)
        case .refuse(_, let reason): members["reason"] = .string(reason)
        case .on, .replace, .add, .delete, .reset: break
        }
        return members
    }
}

extension RelocationEntry.Method {
    fileprivate var members: [String: JSONValue] { ["service": .string(service), "method": .string(name)] }
}
