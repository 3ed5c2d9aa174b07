extension RelocationPlan {
    /// Follows every redirect, and refuses circles and chains that are too long.
    func checkChains(_ steps: inout RelocationSteps) throws(RelocationError) {
        guard isPlain else {
            try checkBranches(&steps)
            return try checkTargets(&steps)
        }
        try checkPaths(&steps)
    }

    /// Of URLs and subtrees, each of which leads to one other.
    private func checkPaths(_ steps: inout RelocationSteps) throws(RelocationError) {
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
                steps.take(100 + here.key.bytes.count)
                try checkWork(steps)
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

    /// Follows a sample of what each origin takes, wherever it may lead.
    private func checkBranches(_ steps: inout RelocationSteps) throws(RelocationError) {
        for alternatives in rules {
            guard let rule = alternatives.first(where: { $0.redirect != nil }), let url = rule.origin.sample
            else { continue }
            var walk = Walk(place: rule.place)
            try follow(url, &walk, &steps)
        }
    }

    /// Follows each target as an installation does, which asks whether it has a destination.
    ///
    /// An installation does not fail, so what is too much for it is found here.
    private func checkTargets(_ steps: inout RelocationSteps) throws(RelocationError) {
        var decisions = [RelocationDecision]?.none
        for (redirect, _) in redirects where redirect.target.isFixed {
            var next = try? RouteURL(redirect.target.text) as RouteURL
            for _ in 0..<max(0, maximumHops) {
                guard let url = next, !isConditional(at: url, &steps),
                    let hop = hop(for: url, nil, &decisions, &steps)
                else { break }
                next = try? RouteURL(hop.url)
            }
            try checkWork(steps)
        }
    }

    private struct Walk {
        let place: Place
        var path: [(key: RelocationPath.Key, text: String)] = []
        /// The conditions that hold on this way.
        var conditions: [RelocationCondition] = []

        var shown: [String] { path.map { RouteURL.withoutValues($0.text) } }
    }

    private func follow(
        _ url: RouteURL, _ walk: inout Walk, _ steps: inout RelocationSteps
    ) throws(RelocationError) {
        steps.take(100 + url.text.utf8.count)
        let key = RelocationPath(scheme: url.scheme, components: url.components, isSubtree: false).key
        if let start = walk.path.firstIndex(where: { $0.key == key }) {
            let texts = walk.shown[start...] + [RouteURL.withoutValues(url.text)]
            throw error(.cycle, walk.place, "redirects lead in a circle: \(names(Array(texts)))")
        }
        let branches = branches(for: url, under: walk.conditions, &steps)
        try checkWork(steps)
        guard !branches.isEmpty else { return }
        walk.path.append((key, url.text))
        guard walk.path.count <= maximumHops else {
            throw error(
                .chain, walk.place,
                "there are more than \(maximumHops) redirects in a row: \(names(walk.shown))")
        }
        for branch in branches {
            guard let next = try? RouteURL(branch.url) as RouteURL else { continue }
            if let condition = branch.condition { walk.conditions.append(condition) }
            try follow(next, &walk, &steps)
            if branch.condition != nil { walk.conditions.removeLast() }
        }
        walk.path.removeLast()
    }

    /// Where a URL may lead when these conditions hold; not all of it when the steps are over.
    private func branches(
        for url: RouteURL, under conditions: [RelocationCondition], _ steps: inout RelocationSteps
    ) -> [(url: String, condition: RelocationCondition?)] {
        var branches: [(url: String, condition: RelocationCondition?)] = []
        for match in matches(url, &steps) {
            var captured: [CapturedParameter]?
            for rule in rules[match.number] {
                steps.take(rule.weight)
                guard !steps.areOver else { return branches }
                guard rule.covers(url) else { continue }
                if let condition = rule.condition,
                    conditions.contains(where: { other in
                        steps.take(condition.stepsToCompare(with: other))
                        return condition.excludes(other)
                    })
                {
                    continue
                }
                let values = captured ?? self.captured(match, in: url)
                captured = values
                for redirect in rule.redirects {
                    let target = redirect.apply(to: url, captured: values)
                    steps.take(100 + url.text.utf8.count + target.utf8.count)
                    branches.append((target, rule.condition))
                }
                // Behind one that always applies none is tried.
                guard rule.condition != nil else { return branches }
            }
        }
        return branches
    }
}
