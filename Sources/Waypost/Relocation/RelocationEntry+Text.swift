extension RelocationEntry {
    /// The origin or the path that it is about, as it is written.
    package var subjectPath: String {
        switch kind {
        case .replace(let path, _), .add(let path, _), .delete(let path), .reset(let path, _): path
        }
    }

    /// What it does, for people: `scheme://a → scheme://b`.
    package var text: String {
        let more = when.map { ", when \($0.text)" } ?? ""
        return switch kind {
        case .replace(let origin, let target), .reset(let origin, let target?): "\(origin) → \(target)\(more)"
        case .add(let path, let className): "add \(path) for \(className)\(more)"
        case .delete(let path): "delete \(path)\(more)"
        case .reset(let origin, nil): "reset \(origin)\(more)"
        }
    }

    /// A URL that its origin or path takes; nil where it is a mistake, or a converter of the program decides.
    package var sample: String? {
        switch kind {
        case .replace(let origin, _), .reset(let origin, _):
            (try? RelocationOrigin(origin, index: 0, .ofDocuments) as RelocationOrigin)?.sample?.text
        case .add(let path, _), .delete(let path): Self.sample(of: path)
        }
    }

    /// A URL that a pattern takes.
    package static func sample(of pattern: String) -> String? {
        (try? RoutePattern(pattern) as RoutePattern)?.sample?.text
    }
}
