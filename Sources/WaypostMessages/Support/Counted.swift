extension BinaryInteger {
    /// The number and what it counts: `1 entry`, `2 entries`, `3 commands`.
    ///
    /// - Parameter many: what more or fewer than one are called; `one` with an `s` unless it is given.
    package func counted(_ one: String, _ many: String? = nil) -> String {
        "\(self) \(self == 1 ? one : many ?? one + "s")"
    }
}
