extension Duration {
    /// Whole milliseconds, cut; the nearest that 64 bits hold when they are more.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, isBeyond) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return isBeyond ? (seconds < 0 ? .min : .max) : sum
    }
}
