/// Follows a sample of what each origin takes, wherever it may lead, and refuses circles and chains that are too long.
struct RelocationChains {
    /// Where a URL may lead.
    private struct Branch {
        let url: String
        let addsParameters: Bool
        let condition: RelocationCondition?
        let place: RelocationPlan.Place
    }

    private let plan: RelocationPlan
    private(set) var steps: RelocationSteps
    private(set) var refusals: RelocationRefusals
    /// The URLs of the chain, each of which is redirected.
    private var path: [(key: RelocationPath.Key, text: String)] = []
    /// The entries that redirect on it, and the conditions that hold there.
    private var places: [RelocationPlan.Place] = []
    private var conditions: [RelocationCondition] = []
    /// Whether it began with all URLs below one.
    private var isOfSubtree = false

    init(_ plan: RelocationPlan, _ steps: RelocationSteps, _ refusals: RelocationRefusals) {
        self.plan = plan
        self.steps = steps
        self.refusals = refusals
    }

    mutating func check() throws(RelocationError) {
        for alternatives in plan.rules where alternatives.contains(where: { $0.redirect != nil }) {
            guard let origin = alternatives.first?.origin, let url = origin.sample else { continue }
            isOfSubtree = origin.isSubtree
            _ = try follow(url, as: origin.pattern == nil ? origin.text : url.text)
        }
        // Followed as an installation does, which asks whether they have a destination, and does not fail: what is too
        // much for it is found here.
        guard !plan.isPlain else { return }
        for (redirect, _) in plan.redirects where redirect.target.isFixed {
            if let url = try? RouteURL(redirect.target.text) as RouteURL {
                _ = plan.leads(url, hops: plan.maximumHops, nil, &steps) { url, steps in
                    plan.isConditional(at: url, &steps) ? true : nil
                }
            }
            try plan.checkWork(steps)
        }
    }

    /// Goes on from a URL; false when something in the chain was refused, and it need not be followed.
    private mutating func follow(_ url: RouteURL, as text: String) throws(RelocationError) -> Bool {
        steps.take(100 + url.text.utf8.count)
        let key = RelocationPath.Key(of: url)
        if let start = path.firstIndex(where: { $0.key == key }) {
            try refuseCircle(path[start...].map(\.text) + [text], places[start...])
            return false
        }
        let branches = branches(for: url)
        try plan.checkWork(steps)
        guard let first = branches.first else { return true }
        path.append((key, text))
        defer { path.removeLast() }
        guard path.count <= plan.maximumHops else {
            try refuseChain(first)
            return false
        }
        for branch in branches {
            guard let next = try? RouteURL(branch.url) as RouteURL,
                !branch.addsParameters || RelocationPath.Key(of: next) != key
            else { continue }
            guard !refusals.leftOut.contains(branch.place) else {
                // Of the branches of the beginning itself, one may be refused and the others not.
                guard let first = places.first else { continue }
                refusals.leaveOut(first)
                return false
            }
            if let condition = branch.condition { conditions.append(condition) }
            places.append(branch.place)
            let isGood = try follow(next, as: next.text)
            places.removeLast()
            if branch.condition != nil { conditions.removeLast() }
            guard isGood || places.isEmpty else { return false }
        }
        return true
    }

    /// Where a URL may lead; not all of it when the steps are over.
    private mutating func branches(for url: RouteURL) -> [Branch] {
        var branches: [Branch] = []
        for match in plan.matches(url, &steps) {
            var captured: [CapturedParameter]?
            for rule in plan.rules[match.number] {
                steps.take(rule.weight)
                guard !steps.areOver else { return branches }
                guard rule.covers(url), !(rule.condition.map { excludes($0) } ?? false) else { continue }
                let values = captured ?? plan.captured(match, in: url)
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

    /// Counts the steps that it takes to say whether a condition can't hold where those before it do.
    private mutating func excludes(_ condition: RelocationCondition) -> Bool {
        conditions.contains { other in
            steps.take(condition.stepsToCompare(with: other))
            return condition.excludes(other)
        }
    }

    // MARK: Refusing

    /// Refuses a chain that has as many redirects as a chain may have, and this one behind them.
    private mutating func refuseChain(_ branch: Branch) throws(RelocationError) {
        guard plan.isPlain else {
            return try refuse(
                .chain, "there are more than \(plan.maximumHops) redirects in a row", path.map(\.text),
                places + [branch.place])
        }
        // A circle longer than a chain may be is still called a circle, so that each URL that leads to one other is
        // followed to the end. A subtree inside itself only grows.
        var (texts, keys, places) = (path.map(\.text), path.map(\.key), places + [branch.place])
        var (known, branch) = (Set(keys), branch)
        while let url = try? RouteURL(branch.url) as RouteURL {
            let key = RelocationPath.Key(of: url)
            let isEnd = branch.addsParameters && key == keys.last
            guard isEnd || known.insert(key).inserted else {
                let start = keys.firstIndex(of: key) ?? 0
                return try refuseCircle(texts[start...] + [url.text], places[start...])
            }
            texts.append(url.text)
            keys.append(key)
            steps.take(100 + url.text.utf8.count)
            guard !isEnd, places.count <= max(plan.redirects.count, plan.maximumHops),
                url.components.count <= 2 * RelocationPath.maximumComponents,
                let next = branches(for: url).first
            else { break }
            try plan.checkWork(steps)
            guard !refusals.leftOut.contains(next.place) else { return refusals.leaveOut(places[0]) }
            places.append(next.place)
            branch = next
        }
        let count = "there are \(places.count) redirects in a row; at most \(plan.maximumHops) are allowed"
        try refuse(.chain, count, texts, places)
    }

    private mutating func refuseCircle(
        _ texts: some Collection<String>, _ places: ArraySlice<RelocationPlan.Place>
    ) throws(RelocationError) {
        try refuse(.cycle, "redirects form a cycle", Array(texts), Array(places))
        if let first = self.places.first { refusals.leaveOut(first) }
    }

    /// - Parameter places: The entries that it leads over; the first is refused.
    private mutating func refuse(
        _ code: Code, _ what: String, _ texts: [String], _ places: [RelocationPlan.Place]
    ) throws(RelocationError) {
        var names = texts.map { text in
            let name = RouteURL.withoutValues(text)
            return isOfSubtree ? name.replacing(RelocationOrigin.sampleText, with: "**") : name
        }
        if names.count > 24 {
            names.replaceSubrange(12..<names.count - 12, with: ["… \(names.count - 24) more …"])
        }
        try refusals.add(
            RelocationError(
                code, layer: places.first?.layer, index: places.first?.index, field: "targetPath",
                detail: "\(what): \(names.joined(separator: " → "))", others: Array(places.dropFirst())),
            over: places, isCircle: code == .cycle)
    }
}
