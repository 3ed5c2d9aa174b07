extension Array {
    /// The elements in runs of at most `size`, in order.
    func chunks(_ size: Int) -> some Sequence<ArraySlice<Element>> {
        sequence(state: self[...]) { rest in
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(size) }
            return rest.prefix(size)
        }
    }
}
