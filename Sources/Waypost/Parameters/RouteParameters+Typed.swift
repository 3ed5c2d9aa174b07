extension RouteParameters {
    /// The parameter as a value of that type; text from the URL is read as what the type wants.
    ///
    ///     let id = try request.parameters.value("id", as: Int.self)
    ///
    /// - Throws: `ParameterError` when the key is missing or its value does not fit.
    public func value<T: Decodable>(_ key: String, as type: T.Type = T.self) throws(ParameterError) -> T {
        guard let found = self[key] else {
            throw ParameterError(key: key, found: nil, type: "\(type)", reason: "is missing")
        }
        return try read(found, key: key, as: type)
    }

    /// The parameter as a value of that type, or nil when the key is missing.
    ///
    /// - Throws: `ParameterError` when the key is there and its value does not fit.
    public func valueIfPresent<T: Decodable>(
        _ key: String, as type: T.Type = T.self
    ) throws(ParameterError) -> T? {
        guard let found = self[key] else { return nil }
        return try read(found, key: key, as: type)
    }

    /// All parameters as one structure; `"2"` from a query decodes as `Int` 2.
    ///
    /// - Throws: `ParameterError` naming the first key that is missing or does not fit.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws(ParameterError) -> T {
        let merged = merged
        do {
            // A key of which another source won is what that source says.
            let lists = repeated.isEmpty ? [:] : repeated.filter { merged[$0.key] == $0.value.last }
            return try JSONValueDecoder(readsText: true, readsLists: true)
                .decode(type, from: .object(merged), lists: lists)
        } catch let error as DecodingError {
            let key = String(error.place.prefix { $0 != "." && $0 != "[" })
            throw ParameterError(key: error.place, found: merged[key], type: "\(type)", reason: error.reason)
        } catch {
            throw ParameterError(
                key: "", found: nil, type: "\(type)", reason: DecodingError.reason(of: error))
        }
    }

    /// A native object that a caller in this process passed.
    ///
    ///     let done = try request.parameters.requiredObject("done", as: (@Sendable (Int) -> Void).self)
    ///
    /// A closure is read as the very type with which it was passed, and that is `@Sendable`.
    ///
    /// - Throws: `ParameterError` when it is absent, and when it is of another type; it names both types.
    public func requiredObject<T>(_ key: String, as type: T.Type = T.self) throws(ParameterError) -> T {
        guard let found = objects[key] else {
            let reason = self[key].map { "is \($0.kind), and not among the objects" }
            throw ParameterError(
                key: key, found: self[key], type: "\(type)", reason: reason ?? "is missing among the objects")
        }
        guard let object = found as? T else {
            throw ParameterError(
                key: key, found: nil, type: "\(type)", reason: "is an object of type \(Swift.type(of: found))"
            )
        }
        return object
    }

    /// A native object that a caller in this process passed; nil when it is absent or of another type.
    ///
    /// ``requiredObject(_:as:)`` says which of the two.
    public func object<T>(_ key: String, as type: T.Type = T.self) -> T? {
        objects[key] as? T
    }

    private func read<T: Decodable>(
        _ found: JSONValue, key: String, as type: T.Type
    ) throws(ParameterError) -> T {
        do {
            let list = repeated[key].flatMap { $0.last == found ? $0 : nil }
            return try JSONValueDecoder(readsText: true, readsLists: true).decode(
                type, from: found, list: list)
        } catch let error as DecodingError {
            let place = error.place
            let path = place.isEmpty ? key : place.hasPrefix("[") ? key + place : "\(key).\(place)"
            throw ParameterError(key: path, found: found, type: "\(type)", reason: error.reason)
        } catch {
            throw ParameterError(
                key: key, found: found, type: "\(type)", reason: DecodingError.reason(of: error))
        }
    }
}
