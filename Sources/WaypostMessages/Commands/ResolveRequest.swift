package import Waypost

/// What a `resolve` asks for: where URLs would lead, and what calls would run, without opening or calling anything.
package struct ResolveRequest: Sendable, Hashable {
    /// The most URLs and calls of one command.
    package static let maximumURLs = 100

    package var urls: [String]
    /// Calls, by service and method; they are answered behind the URLs.
    package var calls: [RelocationEntry.Method] = []
    /// The parameters of the call, by which conditions and routes' redirects may decide.
    package var parameters: [String: JSONValue]
    /// Who would open them; the sender of the command unless given.
    package var caller: String?

    package init(_ urls: [String], parameters: [String: JSONValue] = [:], caller: String? = nil) {
        self.urls = urls
        self.parameters = parameters
        self.caller = caller
    }

    package init(calls: [RelocationEntry.Method], parameters: [String: JSONValue] = [:]) {
        self.init([], parameters: parameters)
        self.calls = calls
    }
}

extension ResolveRequest {
    /// The fields of the command, beside those of all.
    static let fields = ["urls", "calls", "as"]

    /// - Throws: ``Failure`` 422 naming the field.
    init(_ fields: Fields) throws(Failure) {
        let calls = try Self.calls(fields)
        let list = fields["urls"]?.arrayValue ?? (fields["urls"] == nil && !calls.isEmpty ? [] : nil)
        guard let list, !(list.isEmpty && calls.isEmpty), list.count + calls.count <= Self.maximumURLs else {
            throw Failure(
                .badField, "urls must be an array of 1 to \(Self.maximumURLs) URLs, those of calls among them"
            )
        }
        urls = []
        self.calls = calls
        for (index, element) in list.enumerated() {
            guard case .string(let url) = element else {
                throw Failure(.badField, "urls[\(index)] must be a string; found \(element.kind)")
            }
            urls.append(url)
        }
        let facts = Fields(of: .object(try fields.object("as") ?? [:]))
        do throws(Failure) {
            parameters = try facts.object("params") ?? [:]
            caller = try facts.text("caller")
        } catch {
            throw Failure(error.code, "as.\(error.detail)")
        }
        guard caller.map(Name.isValid) ?? true else {
            throw Failure(.badField, "as.caller must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
    }

    private static func calls(_ fields: Fields) throws(Failure) -> [RelocationEntry.Method] {
        guard let json = fields["calls"], !json.isNull else { return [] }
        guard let list = json.arrayValue, list.count <= maximumURLs else {
            throw Failure(
                .badField, "calls must be an array of at most \(maximumURLs) objects with service and method")
        }
        var calls: [RelocationEntry.Method] = []
        for (index, element) in list.enumerated() {
            guard let service = element["service"]?.stringValue, let method = element["method"]?.stringValue
            else {
                throw Failure(.badField, "calls[\(index)] must be an object with service and method")
            }
            calls.append(.init(service, method))
        }
        return calls
    }

    func write(to json: inout JSONWriter) {
        if !urls.isEmpty || calls.isEmpty { json.member("urls", .array(urls.map(JSONValue.string))) }
        if !calls.isEmpty {
            json.member(
                "calls", .array(calls.map { ["service": .string($0.service), "method": .string($0.name)] }))
        }
        var facts: [String: JSONValue] = [:]
        if let caller { facts["caller"] = .string(caller) }
        if !parameters.isEmpty { facts["params"] = .object(parameters) }
        if !facts.isEmpty { json.member("as", .object(facts)) }
    }
}
