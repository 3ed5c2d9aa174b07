import Waypost

/// Finds texts that look like others: those with characters that no one sees.
enum UnseenCheck {
    /// What is said of a text; nil when all of it can be seen.
    static func fault(in text: String) -> String? {
        guard let scalar = text.unseenScalars.first else { return nil }
        return "it has \(scalar.unseenText)"
    }

    /// The first field of an entry with such a text, and what is said of it; nil when all can be seen.
    ///
    /// - Parameters:
    ///   - entry: The entry; nil for one that was refused while it was read.
    ///   - subject: Its origin or path.
    static func fault(in entry: RelocationEntry?, _ subject: String) -> (field: String, detail: String)? {
        for (field, texts) in fields(of: entry, subject) {
            if let detail = texts.lazy.compactMap(fault).first { return (field, "\(field): \(detail)") }
        }
        return nil
    }

    private static func fields(of entry: RelocationEntry?, _ subject: String) -> [(String, [String])] {
        var fields: [(String, [String])] =
            switch entry?.kind {
            case .replace(_, let target), .reset(_, let target?):
                [("orginPath", [subject]), ("targetPath", [target])]
            case .reset(_, nil): [("orginPath", [subject])]
            case .add(_, let className): [("path", [subject]), ("className", [className])]
            case .delete, nil: [("path", [subject])]
            case .replaceMethod(_, let other): [("method", [subject]), ("by", [other.text])]
            case .gate(_, let name): [("path", [subject]), ("gate", [name])]
            case .refuse(_, let reason), .off(.pages, let reason?, _):
                [("path", [subject]), ("reason", [reason])]
            case .off(_, let reason?, _): [("service", [subject]), ("reason", [reason])]
            case .off, .on, .answer: [("service", [subject])]
            }
        guard let entry else { return fields }
        fields.append(("except", entry.except))
        fields.append(("params", entry.params.keys.sorted()))
        if let when = entry.when { fields.append(("when", texts(in: when))) }
        return fields
    }

    /// All names and texts of a condition.
    private static func texts(in json: JSONValue) -> [String] {
        switch json {
        case .string(let text): [text]
        case .array(let elements): elements.flatMap(texts)
        case .object(let members):
            members.sorted { $0.key < $1.key }.flatMap { [$0.key] + texts(in: $0.value) }
        default: []
        }
    }
}
