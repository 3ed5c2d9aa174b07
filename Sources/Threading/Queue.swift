/// Elements in order of arrival, taken from the front.
package struct Queue<Element> {
    private var elements: [Element] = []
    /// What is before it has been taken.
    private var first = 0

    package init() {}

    package var count: Int { elements.count - first }
    package var isEmpty: Bool { count == 0 }

    package mutating func append(_ element: Element) { elements.append(element) }

    package mutating func popFirst() -> Element? {
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
        elements.removeFirst(first)
        first = 0
        elements.removeAll(where: isOne)
    }
}

extension Queue: Sequence {
    package func makeIterator() -> IndexingIterator<ArraySlice<Element>> { elements[first...].makeIterator() }
}

extension Queue: Sendable where Element: Sendable {}
