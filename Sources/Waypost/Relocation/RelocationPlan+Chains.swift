extension RelocationPlan {
    /// Follows every redirect, and refuses circles and chains that are too long.
    func checkChains(
        _ steps: inout RelocationSteps, _ refusals: inout RelocationRefusals
    ) throws(RelocationError) {
        guard isPlain else {
            try checkBranches(&steps, &refusals)
            return try checkTargets(&steps)
        }
        for item in redirects where !refusals.leftOut.contains(item.place) {
            try checkPath(of: item.redirect, item.place, &steps, &refusals)
        }
    }

    /// Of a URL or a subtree, each of which leads to one other.
    private func checkPath(
        of redirect: RelocationRedirect, _ place: Place, _ steps: inout RelocationSteps,
        _ refusals: inout RelocationRefusals
    ) throws(RelocationError) {
        guard case .path(let origin) = redirect.origin.kind, var here = redirect.target.path else { return }
        var path = [origin]
        var places = [place]
        var visited: Set = [origin.key]
        // What adds parameters to its own origin does so once, and a row ends with it.
        var isEnd = redirect.addsParameters && here.key == origin.key
        while true {
            guard isEnd || visited.insert(here.key).inserted else {
                let start = path.firstIndex { $0.key == here.key } ?? 0
                try refuseCircle((path[start...] + [here]).map(\.shown), Array(places[start...]), &refusals)
                return refusals.leaveOut(place)
            }
            path.append(here)
            steps.take(100 + here.key.bytes.count)
            try checkWork(steps)
            // A circle longer than a chain may be is still called a circle, so the path is followed to its end;
            // this happens once, for the map is then refused. A subtree inside itself only grows.
            guard !isEnd, let next = next(after: here), path.count <= max(redirects.count, maximumHops) + 1,
                here.components.count <= 2 * RelocationPath.maximumComponents
            else { break }
            guard !refusals.leftOut.contains(next.place) else { return refusals.leaveOut(place) }
            isEnd = next.addsParameters && next.path.key == here.key
            here = next.path
            places.append(next.place)
        }
        guard path.count - 1 > maximumHops else { return }
        let detail = "there are \(path.count - 1) redirects in a row; at most \(maximumHops) are allowed: "
        try refusals.add(
            error(.chain, places, detail + names(path.map(\.shown))), over: places, isCircle: false)
    }

    private func next(
        after path: RelocationPath
    ) -> (path: RelocationPath, place: Place, addsParameters: Bool)? {
        guard
            let number = tree.find(
                scheme: path.scheme, components: path.components, isSubtree: path.isSubtree)
        else { return nil }
        let (redirect, place) = redirects[number]
        guard case .path(let origin) = redirect.origin.kind, let target = redirect.target.path else {
            return nil
        }
        var next = target
        if origin.isSubtree {
            let rest = path.components.dropFirst(origin.components.count)
            next = RelocationPath(
                scheme: target.scheme, components: target.components + rest, isSubtree: path.isSubtree)
        }
        return (next, place, redirect.addsParameters)
    }

    private func names(_ texts: [String]) -> String {
        guard texts.count > 24 else { return texts.joined(separator: " → ") }
        return (texts.prefix(12) + ["… \(texts.count - 24) more …"] + texts.suffix(12)).joined(
            separator: " → ")
    }

    /// - Parameter places: The entries that it leads over; the first is refused.
    private func error(_ code: Code, _ places: [Place], _ detail: String) -> RelocationError {
        RelocationError(
            code, layer: places.first?.layer, index: places.first?.index, field: "targetPath", detail: detail,
            others: Array(places.dropFirst()))
    }

    private func refuseCircle(
        _ path: [String], _ places: [Place], _ refusals: inout RelocationRefusals
    ) throws(RelocationError) {
        try refusals.add(
            error(.cycle, places, "redirects form a cycle: \(names(path))"), over: places, isCircle: true)
    }

    // MARK: Patterns, conditions and exceptions

    /// Follows a sample of what each origin takes, wherever it may lead.
    private func checkBranches(
        _ steps: inout RelocationSteps, _ refusals: inout RelocationRefusals
    ) throws(RelocationError) {
        for alternatives in rules where alternatives.contains(where: { $0.redirect != nil }) {
            guard let url = alternatives.first?.origin.sample else { continue }
            var walk = Walk()
            _ = try follow(url, &walk, &steps, &refusals)
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
        var path: [(key: RelocationPath.Key, text: String)] = []
        /// The entries that redirect on this way.
        var places: [Place] = []
        /// The conditions that hold on this way.
        var conditions: [RelocationCondition] = []

        var shown: [String] { path.map { RouteURL.withoutValues($0.text) } }
    }

    /// Goes on from a URL; false when something on the way was refused, and the way need not be followed.
    private func follow(
        _ url: RouteURL, _ walk: inout Walk, _ steps: inout RelocationSteps,
        _ refusals: inout RelocationRefusals
    ) throws(RelocationError) -> Bool {
        steps.take(100 + url.text.utf8.count)
        let key = RelocationPath(scheme: url.scheme, components: url.components, isSubtree: false).key
        if let start = walk.path.firstIndex(where: { $0.key == key }) {
            let texts = walk.shown[start...] + [RouteURL.withoutValues(url.text)]
            try refuseCircle(Array(texts), Array(walk.places[start...]), &refusals)
            if let first = walk.places.first { refusals.leaveOut(first) }
            return false
        }
        let branches = branches(for: url, under: walk.conditions, &steps)
        try checkWork(steps)
        guard !branches.isEmpty else { return true }
        walk.path.append((key, url.text))
        defer { walk.path.removeLast() }
        guard walk.path.count <= maximumHops else {
            let detail = "there are more than \(maximumHops) redirects in a row: \(names(walk.shown))"
            let places = walk.places + branches.prefix(1).map(\.place)
            try refusals.add(error(.chain, places, detail), over: places, isCircle: false)
            return false
        }
        for branch in branches {
            guard let next = try? RouteURL(branch.url) as RouteURL else { continue }
            guard !branch.addsParameters || next.scheme != url.scheme || next.components != url.components
            else {
                continue
            }
            guard !refusals.leftOut.contains(branch.place) else {
                if let first = walk.places.first { refusals.leaveOut(first) }
                // Of the branches of the beginning itself, one may be refused and the others not.
                guard walk.places.isEmpty else { return false }
                continue
            }
            if let condition = branch.condition { walk.conditions.append(condition) }
            walk.places.append(branch.place)
            let isGood = try follow(next, &walk, &steps, &refusals)
            walk.places.removeLast()
            if branch.condition != nil { walk.conditions.removeLast() }
            guard isGood || walk.places.isEmpty else { return false }
        }
        return true
    }

    /// Where a URL may lead.
    private struct Branch {
        let url: String
        let addsParameters: Bool
        let condition: RelocationCondition?
        let place: Place
    }

    /// Where a URL may lead when these conditions hold; not all of it when the steps are over.
    private func branches(
        for url: RouteURL, under conditions: [RelocationCondition], _ steps: inout RelocationSteps
    ) -> [Branch] {
        var branches: [Branch] = []
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
                    branches.append(
                        Branch(
                            url: target, addsParameters: redirect.addsParameters, condition: rule.condition,
                            place: rule.place))
                }
                // Behind one that always applies none is tried.
                guard rule.condition != nil else { return branches }
            }
        }
        return branches
    }
}
