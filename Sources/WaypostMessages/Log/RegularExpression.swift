/// A regular expression, whose time grows with the text and with itself, and with nothing else.
///
/// It comes from outside, in a query: an engine that tries one way after the other needs hours for `(a+)+$` and a line
/// of forty letters. This one is at all its places at once. It has what that allows: literals, `.`, classes, `\d \w \s
/// \b` and their opposites, `^ $`, groups, alternatives, `* + ? {2,5}`, and `(?i)` for any case; no references back to a
/// group, and no looking ahead or behind. What they mean is what they mean in JavaScript.
struct RegularExpression: Sendable {
    /// Why a text is none.
    struct Fault: Error {
        let detail: String
    }

    /// What holds at a place between two characters.
    enum Assertion: Sendable {
        case begin, end, boundary, noBoundary
    }

    private enum Step: Sendable {
        /// One of these characters, by the number of the set.
        case scalar(Int)
        case assertion(Assertion)
        /// Both ways at once.
        case split(Int, Int)
        case jump(Int)
        case match
    }

    /// The most steps: a text of 2 KiB then takes some ten million of the simplest operations.
    private static let maximumSteps = 1_000

    private var steps: [Step] = []
    private var sets: [ScalarSet] = []
    /// Counts what has no step too, so that `(){1000}` in itself ends.
    private var work = 0

    /// - Throws: ``Fault`` for what is no expression, uses what is not there, or is too long.
    init(_ text: String) throws(Fault) {
        var parser = Parser(text)
        try add(parser.expression())
        steps.append(.match)
    }

    // MARK: Compiling

    private mutating func add(_ node: Node) throws(Fault) {
        work += 1
        guard work <= Self.maximumSteps, steps.count < Self.maximumSteps else {
            throw Fault(detail: "it is too long, or repeats too much")
        }
        switch node {
        case .set(let set):
            steps.append(.scalar(sets.count))
            sets.append(set)
        case .assertion(let assertion): steps.append(.assertion(assertion))
        case .sequence(let nodes): for node in nodes { try add(node) }
        case .choice(let nodes): try add(choice: nodes)
        case .repeated(let node, let least, let most): try add(node, least, most)
        }
    }

    private mutating func add(choice nodes: [Node]) throws(Fault) {
        var ends: [Int] = []
        for (index, node) in nodes.enumerated() {
            let isLast = index == nodes.count - 1
            let place = steps.count
            if !isLast { steps.append(.jump(0)) }
            try add(node)
            guard !isLast else { break }
            ends.append(steps.count)
            steps.append(.jump(0))
            steps[place] = .split(place + 1, steps.count)
        }
        for end in ends { steps[end] = .jump(steps.count) }
    }

    private mutating func add(_ node: Node, _ least: Int, _ most: Int?) throws(Fault) {
        for _ in 0..<least { try add(node) }
        guard let most else {
            let place = steps.count
            steps.append(.jump(0))
            try add(node)
            steps.append(.jump(place))
            steps[place] = .split(place + 1, steps.count)
            return
        }
        var places: [Int] = []
        for _ in least..<most {
            places.append(steps.count)
            steps.append(.jump(0))
            try add(node)
        }
        for place in places { steps[place] = .split(place + 1, steps.count) }
    }

    // MARK: Matching

    /// All places of the expression at one place of the text.
    private struct Places {
        var list: [Int] = []
        var isMatch = false
        private var stack: [Int] = []
        /// When each step was reached last, so that none is followed twice at one place.
        private var reached: [Int]
        private var turn = 0

        init(_ count: Int) { reached = [Int](repeating: 0, count: count) }

        mutating func begin() {
            list.removeAll(keepingCapacity: true)
            turn += 1
        }

        mutating func follow(
            _ step: Int, _ steps: [Step], after before: Unicode.Scalar?, before next: Unicode.Scalar?
        ) {
            stack.append(step)
            while let step = stack.popLast() {
                guard reached[step] != turn else { continue }
                reached[step] = turn
                switch steps[step] {
                case .scalar: list.append(step)
                case .assertion(let assertion):
                    if assertion.holds(before, next) { stack.append(step + 1) }
                case .split(let one, let other):
                    stack.append(other)
                    stack.append(one)
                case .jump(let target): stack.append(target)
                case .match: isMatch = true
                }
            }
        }
    }

    /// Whether a part of the text fits.
    func isIn(_ text: String) -> Bool {
        var (here, there) = (Places(steps.count), Places(steps.count))
        var scalars = text.unicodeScalars.makeIterator()
        var next = scalars.next()
        here.begin()
        here.follow(0, steps, after: nil, before: next)
        while let scalar = next {
            if here.isMatch { return true }
            next = scalars.next()
            there.begin()
            for step in here.list {
                guard case .scalar(let set) = steps[step], sets[set].contains(scalar) else { continue }
                there.follow(step + 1, steps, after: scalar, before: next)
            }
            // It may begin at any place.
            there.follow(0, steps, after: scalar, before: next)
            swap(&here, &there)
        }
        return here.isMatch
    }
}

extension RegularExpression.Assertion {
    fileprivate func holds(_ before: Unicode.Scalar?, _ next: Unicode.Scalar?) -> Bool {
        func isInWord(_ scalar: Unicode.Scalar?) -> Bool { scalar.map(ScalarSet.word.contains) ?? false }
        return switch self {
        case .begin: before == nil
        case .end: next == nil
        case .boundary: isInWord(before) != isInWord(next)
        case .noBoundary: isInWord(before) == isInWord(next)
        }
    }
}
