/// Elements in order of arrival, taken from the front.
package struct Queue<Element> {
    private var elements: [Element] = []
    /// What is before it has been taken.
    private var first = 0

    package init() {}

    package var count: Int { elements.count - first }
    package var isEmpty: Bool { count == 0 }

    /// Whether what was taken is no more than there was.
    private var isConsistent: Bool { first == 0 || first < elements.count }

    package mutating func append(_ element: Element) {
        defer { assert(isConsistent) }
        elements.append(element)
    }

    package mutating func popFirst() -> Element? {
        defer { assert(isConsistent) }
        guard first < elements.count else { return nil }
        defer {
            first += 1
            // A part of what is left is moved for each that was taken, however many there are.
            if first == elements.count || first > 32 && first > elements.count / 2 {
                elements.removeFirst(first)
                first = 0
            }
        }
        return elements[first]
    }

    package mutating func removeAll(where isOne: (Element) -> Bool) {
        defer { assert(isConsistent) }
        elements.removeFirst(first)
        first = 0
        elements.removeAll(where: isOne)
    }
}

extension Queue: Sequence {
    package func makeIterator() -> IndexingIterator<ArraySlice<Element>> { elements[first...].makeIterator() }
}

extension Queue: Sendable where Element: Sendable {}
