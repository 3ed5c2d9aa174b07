import Waypost

/// JSON that stood on the command line.
enum JSONArgument {
    /// - Throws: ``CommandError`` 64 naming the option and the place.
    static func parse(_ text: String, option: String) throws(CommandError) -> JSONValue {
        do {
            return try JSONValue(parsing: text)
        } catch {
            throw CommandError(.usage, "\(option): \(error)")
        }
    }

    /// An object on the command line.
    static func object(_ text: String, option: String) throws(CommandError) -> [String: JSONValue] {
        let json = try parse(text, option: option)
        guard let members = json.objectValue else {
            throw CommandError(
                .usage, "\(option) must be a JSON object such as {\"id\":2}; found \(json.kind)")
        }
        return members
    }

    /// The parameters of an open: an object from `--params`, and over it the pairs of `--param`.
    static func parameters(_ object: String?, _ pairs: [String]) throws(CommandError) -> [String: JSONValue] {
        let parameters =
            if let object { try self.object(object, option: "--params") } else { [:] as [String: JSONValue] }
        return parameters.merging(try self.pairs(pairs, option: "--param")) { _, single in single }
    }

    /// `k=v` pairs, all values texts.
    static func pairs(_ pairs: [String], option: String) throws(CommandError) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        for pair in pairs {
            guard let mark = pair.firstIndex(of: "="), mark != pair.startIndex else {
                throw CommandError(.usage, "\(option) must be key=value; found \(pair.debugDescription)")
            }
            members[String(pair[..<mark])] = .string(String(pair[pair.index(after: mark)...]))
        }
        return members
    }
}
