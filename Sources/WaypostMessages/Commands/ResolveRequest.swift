package import Waypost

/// What a `resolve` asks for: where URLs would lead, without opening them.
package struct ResolveRequest: Sendable, Hashable {
    /// The most URLs of one command.
    package static let maximumURLs = 100

    package var urls: [String]
    /// The parameters of the call, by which conditions and routes' redirects may decide.
    package var parameters: [String: JSONValue]
    /// Who would open them; the sender of the command unless given.
    package var caller: String?

    package init(_ urls: [String], parameters: [String: JSONValue] = [:], caller: String? = nil) {
        self.urls = urls
        self.parameters = parameters
        self.caller = caller
    }
}

extension ResolveRequest {
    /// The fields of the command, beside those of all.
    static let fields = ["urls", "as"]

    /// - Throws: ``Failure`` 422 naming the field.
    init(_ fields: Fields) throws(Failure) {
        guard let list = fields["urls"]?.arrayValue, !list.isEmpty, list.count <= Self.maximumURLs else {
            throw Failure(.badField, "urls must be an array of 1 to \(Self.maximumURLs) URLs")
        }
        urls = []
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

    func write(to json: inout JSONWriter) {
        json.member("urls", .array(urls.map(JSONValue.string)))
        var facts: [String: JSONValue] = [:]
        if let caller { facts["caller"] = .string(caller) }
        if !parameters.isEmpty { facts["params"] = .object(parameters) }
        if !facts.isEmpty { json.member("as", .object(facts)) }
    }
}
