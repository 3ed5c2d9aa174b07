extension Int {
    /// So many per cent of it, and one at least.
    func share(_ percent: Int) -> Int {
        let (whole, rest) = quotientAndRemainder(dividingBy: 100)
        return Swift.max(1, whole * percent + rest * percent / 100)
    }
}
