/// What all layers together ask for: redirects to follow, patterns to add and to take away.
///
/// Made from the entries alone, so that it stays valid while routes come and go.
struct RelocationPlan: Sendable {
    /// Where an entry stands.
    struct Place: Sendable, Hashable {
        var layer: String
        var index: Int
    }

    struct Addition: Sendable {
        var pattern: String
        var className: String
        var params: [String: JSONValue]
        var place: Place
    }

    struct Deletion: Sendable {
        var pattern: String
        var place: Place
    }

    private(set) var redirects: [(redirect: RelocationRedirect, place: Place)] = []
    private(set) var tree = RelocationTree()
    private(set) var additions: [Addition] = []
    private(set) var deletions: [Deletion] = []
    private(set) var entries = 0
    let maximumHops: Int

    /// A plan that asks for nothing.
    init(maximumHops: Int) {
        self.maximumHops = maximumHops
    }

    /// Puts the layers on each other, the later over the earlier, and follows every redirect once.
    init(_ layers: [RelocationLayer], maximumHops: Int) throws(RelocationError) {
        self.maximumHops = maximumHops
        var byOrigin: [RelocationPath.Key: (redirect: RelocationRedirect, place: Place)] = [:]
        var added: [RelocationPath.Key: Addition] = [:]
        var deleted: [RelocationPath.Key: Deletion] = [:]
        for layer in layers {
            for (index, entry) in layer.entries.enumerated() {
                entries += 1
                let place = Place(layer: layer.name, index: index)
                do throws(RelocationError) {
                    switch entry.kind {
                    case .replace(let origin, _), .reset(let origin, _):
                        if let redirect = try RelocationRedirect(entry, index: index) {
                            byOrigin[redirect.origin.key] = (redirect, place)
                        } else {
                            byOrigin[try RelocationPath(origin, index: index, field: "orginPath").key] = nil
                        }
                    case .add(let path, let className):
                        let key = RelocationPath.Key(of: path)
                        deleted[key] = nil
                        added[key] = Addition(
                            pattern: path, className: className, params: entry.params, place: place)
                    case .delete(let path):
                        let key = RelocationPath.Key(of: path)
                        added[key] = nil
                        deleted[key] = Deletion(pattern: path, place: place)
                    }
                } catch {
                    throw error.inLayer(layer.name)
                }
            }
        }
        let order = Dictionary(
            layers.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        func isEarlier(_ first: Place, _ second: Place) -> Bool {
            (order[first.layer] ?? 0, first.index) < (order[second.layer] ?? 0, second.index)
        }
        redirects = byOrigin.values.sorted { isEarlier($0.place, $1.place) }
        additions = added.values.sorted { isEarlier($0.place, $1.place) }
        deletions = deleted.values.sorted { isEarlier($0.place, $1.place) }
        for (number, item) in redirects.enumerated() { tree.insert(number, at: item.redirect.origin) }
        try checkChains()
    }

    /// The redirect that takes a URL, if any.
    func redirect(for url: RouteURL) -> RelocationRedirect? {
        tree.isEmpty ? nil : tree.find(url).map { redirects[$0].redirect }
    }

    // MARK: Cycles and chains

    private func checkChains() throws(RelocationError) {
        for item in redirects {
            var path = [item.redirect.origin]
            var visited: Set = [item.redirect.origin.key]
            var here = item.redirect.target
            while true {
                guard visited.insert(here.key).inserted else {
                    let start = path.firstIndex { $0.key == here.key } ?? 0
                    throw error(
                        .cycle, item.place, "redirects lead in a circle: \(names(path[start...] + [here]))")
                }
                path.append(here)
                // A circle longer than a chain may be is still called a circle, so the path is followed to its end;
                // this happens once, for the map is then refused. A subtree inside itself only grows.
                guard let next = next(after: here), path.count <= max(redirects.count, maximumHops) + 1,
                    here.components.count <= 2 * RelocationPath.maximumComponents
                else { break }
                here = next
            }
            guard path.count - 1 <= maximumHops else {
                let detail = "there are \(path.count - 1) redirects in a row, \(maximumHops) are allowed: "
                throw error(.chain, item.place, detail + names(path[...]))
            }
        }
    }

    private func next(after path: RelocationPath) -> RelocationPath? {
        guard
            let number = tree.find(
                scheme: path.scheme, components: path.components, isSubtree: path.isSubtree)
        else { return nil }
        let redirect = redirects[number].redirect
        guard redirect.origin.isSubtree else { return redirect.target }
        let rest = path.components.dropFirst(redirect.origin.components.count)
        return RelocationPath(
            scheme: redirect.target.scheme, components: redirect.target.components + rest,
            isSubtree: path.isSubtree)
    }

    private func names(_ path: ArraySlice<RelocationPath>) -> String {
        let texts = path.map(\.shown)
        guard texts.count > 24 else { return texts.joined(separator: " → ") }
        return (texts.prefix(12) + ["… \(texts.count - 24) more …"] + texts.suffix(12)).joined(
            separator: " → ")
    }

    private func error(_ code: Code, _ place: Place, _ detail: String) -> RelocationError {
        RelocationError(code, layer: place.layer, index: place.index, field: "targetPath", detail: detail)
    }
}

extension RelocationError {
    func inLayer(_ name: String) -> RelocationError {
        var error = self
        error.layer = name
        return error
    }
}
