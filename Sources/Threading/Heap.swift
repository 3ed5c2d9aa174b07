/// Elements of which the least is in front: a binary heap.
package struct Heap<Element: Comparable & Sendable>: Sendable {
    private var elements: [Element] = []

    package init() {}

    package var first: Element? { elements.first }
    var count: Int { elements.count }
    /// Whether none of the next ones is less than the first.
    private var isConsistent: Bool { elements.dropFirst().prefix(2).allSatisfy { $0 >= elements[0] } }

    package mutating func insert(_ element: Element) {
        defer { assert(isConsistent) }
        elements.append(element)
        var place = elements.count - 1
        while place > 0, elements[place] < elements[(place - 1) / 2] {
            elements.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    /// Takes the first one, when it is one of these.
    package mutating func popFirst(where isWanted: (Element) -> Bool) -> Element? {
        defer { assert(isConsistent) }
        guard let first = elements.first, isWanted(first) else { return nil }
        elements.swapAt(0, elements.count - 1)
        elements.removeLast()
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < elements.count {
                if elements[child] < elements[least] { least = child }
            }
            guard least != place else { return first }
            elements.swapAt(place, least)
            place = least
        }
    }

    mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        defer { assert(isConsistent) }
        elements.removeAll(where: isUnwanted)
        // An array in order is a heap.
        elements.sort()
    }
}
