/// The origin or target of a redirect: a URL, or all URLs below one when it ends in `/**`.
package struct RelocationPath: Sendable, Hashable {
    /// What two paths are compared by: bytes, not Unicode equivalence, as everywhere in matching.
    package struct Key: Sendable, Hashable {
        let bytes: [UInt8]

        init(bytes: [UInt8]) { self.bytes = bytes }

        /// The key of a path that is compared as it was written.
        package init(of path: String) { bytes = Array(path.utf8) }

        /// The key of what is opened.
        init(of url: RouteURL) { self.init(url.scheme, url.components, isSubtree: false) }

        fileprivate init(_ scheme: String, _ components: [String], isSubtree: Bool) {
            var bytes = Array(scheme.utf8)
            bytes.reserveCapacity(bytes.count + components.reduce(2) { $0 + $1.utf8.count + 1 })
            for component in components {
                // No component holds a NUL, so this keeps them apart.
                bytes.append(0)
                bytes.append(contentsOf: component.utf8)
            }
            if isSubtree { bytes.append(contentsOf: [0, 0]) }
            self.bytes = bytes
        }

        /// The key of the same path where case makes no difference.
        var lowercased: Key { Key(bytes: bytes.map { RouteScheme.lowercased($0) }) }

        // As one piece: an array is hashed element by element.
        package func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    let text: String
    /// The text for details: of a query it has the keys only.
    var shown: String { RouteURL.withoutValues(text) }
    let scheme: String
    let components: [String]
    let isSubtree: Bool
    let key: Key

    /// The text up to its last component.
    var stem: String {
        var last = 0
        (try? RouteURL(text))?.forEachComponent { start, _ in
            last = Int(start)
            return true
        }
        return String(Substring(text.utf8.prefix(last)))
    }

    /// More components than a sensible URL has; keeps following redirects linear in the map's size.
    static let maximumComponents = 64

    init(_ text: String, index: Int, field: String) throws(RelocationError) {
        let url: RouteURL
        do throws(RouteURLError) {
            url = try RouteURL(text)
        } catch {
            throw RelocationError(.badField, index: index, field: field, detail: "\(field): \(error)")
        }
        let components = url.components
        guard components.count <= Self.maximumComponents else {
            throw RelocationError(
                .badField, index: index, field: field,
                detail: "\(field) has more than \(Self.maximumComponents) components")
        }
        isSubtree = components.last == "**"
        self.text = url.text
        scheme = url.scheme
        self.components = isSubtree ? components.dropLast() : components
        key = Key(scheme, self.components, isSubtree: isSubtree)
    }
}
