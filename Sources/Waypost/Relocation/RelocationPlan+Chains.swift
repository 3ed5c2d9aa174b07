extension RelocationPlan {
    /// Follows every redirect, and refuses circles and chains that are too long.
    func checkChains() throws(RelocationError) {
        guard isPlain else { return try checkBranches() }
        try checkPaths()
    }

    /// Of URLs and subtrees, each of which leads to one other.
    private func checkPaths() throws(RelocationError) {
        for item in redirects {
            guard case .path(let origin) = item.redirect.origin.kind, var here = item.redirect.target.path
            else { continue }
            var path = [origin]
            var visited: Set = [origin.key]
            while true {
                guard visited.insert(here.key).inserted else {
                    let start = path.firstIndex { $0.key == here.key } ?? 0
                    throw error(
                        .cycle, item.place,
                        "redirects lead in a circle: \(names((path[start...] + [here]).map(\.shown)))")
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
                throw error(.chain, item.place, detail + names(path.map(\.shown)))
            }
        }
    }

    private func next(after path: RelocationPath) -> RelocationPath? {
        guard
            let number = tree.find(
                scheme: path.scheme, components: path.components, isSubtree: path.isSubtree)
        else { return nil }
        let redirect = redirects[number].redirect
        guard case .path(let origin) = redirect.origin.kind, let target = redirect.target.path else {
            return nil
        }
        guard origin.isSubtree else { return target }
        let rest = path.components.dropFirst(origin.components.count)
        return RelocationPath(
            scheme: target.scheme, components: target.components + rest, isSubtree: path.isSubtree)
    }

    private func names(_ texts: [String]) -> String {
        guard texts.count > 24 else { return texts.joined(separator: " → ") }
        return (texts.prefix(12) + ["… \(texts.count - 24) more …"] + texts.suffix(12)).joined(
            separator: " → ")
    }

    private func error(_ code: Code, _ place: Place, _ detail: String) -> RelocationError {
        RelocationError(code, layer: place.layer, index: place.index, field: "targetPath", detail: detail)
    }

    // MARK: Patterns, conditions and exceptions

    /// How many steps are checked for each rule, before a map is too tangled to be taken.
    private static let stepsPerRule = 16
    private static let leastSteps = 20_000

    /// Follows a sample of what each origin takes, wherever it may lead.
    private func checkBranches() throws(RelocationError) {
        var steps = max(Self.leastSteps, Self.stepsPerRule * rules.count)
        for alternatives in rules {
            guard let rule = alternatives.first(where: { $0.redirect != nil }), let url = rule.origin.sample
            else { continue }
            var walk = Walk(place: rule.place, steps: steps)
            try follow(url, &walk)
            steps = walk.steps
        }
    }

    private struct Walk {
        let place: Place
        var steps: Int
        var path: [(key: RelocationPath.Key, shown: String)] = []
        /// The conditions that hold on this way.
        var conditions: [RelocationCondition] = []
    }

    private func follow(_ url: RouteURL, _ walk: inout Walk) throws(RelocationError) {
        walk.steps -= 1
        guard walk.steps > 0 else {
            throw error(.chain, walk.place, "the redirects branch too far to be checked")
        }
        let key = RelocationPath(scheme: url.scheme, components: url.components, isSubtree: false).key
        let shown = RouteURL.withoutValues(url.text)
        if let start = walk.path.firstIndex(where: { $0.key == key }) {
            let texts = walk.path[start...].map(\.shown) + [shown]
            throw error(.cycle, walk.place, "redirects lead in a circle: \(names(texts))")
        }
        let branches = branches(for: url, under: walk.conditions)
        guard !branches.isEmpty else { return }
        walk.path.append((key, shown))
        guard walk.path.count <= maximumHops else {
            throw error(
                .chain, walk.place,
                "there are more than \(maximumHops) redirects in a row: \(names(walk.path.map(\.shown)))")
        }
        for branch in branches {
            guard let next = try? RouteURL(branch.url) as RouteURL else { continue }
            if let condition = branch.condition { walk.conditions.append(condition) }
            try follow(next, &walk)
            if branch.condition != nil { walk.conditions.removeLast() }
        }
        walk.path.removeLast()
    }

    /// Where a URL may lead when these conditions hold.
    private func branches(
        for url: RouteURL, under conditions: [RelocationCondition]
    ) -> [(url: String, condition: RelocationCondition?)] {
        var branches: [(url: String, condition: RelocationCondition?)] = []
        for match in matches(url) {
            for rule in rules[match.number] where rule.covers(url) {
                if let condition = rule.condition, conditions.contains(where: condition.excludes) { continue }
                for redirect in rule.redirects {
                    branches.append((redirect.apply(to: url, captured: match.captured), rule.condition))
                }
                // Behind one that always applies none is tried.
                guard rule.condition != nil else { return branches }
            }
        }
        return branches
    }
}
