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

    /// A native object that a caller in this process passed; nil when it is absent or of another type.
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
