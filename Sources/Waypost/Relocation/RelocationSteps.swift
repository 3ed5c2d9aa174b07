/// How much of the work with redirects is left.
///
/// Counted and not timed, so that a map is taken or refused alike on every machine. A step is about ten nanoseconds of
/// a program that was built for release: a look at an origin in a list of many; some fifty are a candidate that is
/// found, a hundred and more a URL that is made and read.
package struct RelocationSteps: Sendable {
    /// For all that checking one map, with the layers beside it, may take: 0.3 s.
    ///
    /// Two thousand redirects of URLs take two hundredths of it, as many patterns that stand beside each other a half.
    static let ofMap = RelocationSteps(left: 30_000_000)
    /// For all redirects of one open: 10 ms.
    package static let ofOpen = RelocationSteps(left: 1_000_000)

    /// Negative when more was taken than there was.
    private(set) var left: Int

    var areOver: Bool { left < 0 }

    mutating func take(_ count: Int) { left = max(-1, left - count) }
}
