/// A function that can be set while others call it.
///
/// A function is never kept in a ``Guarded`` itself, where it has another calling convention: it would be wrapped
/// once more whenever the lock is taken, and each call go through all that came together.
package final class Callback<Argument, Result>: Sendable {
    private struct Kept {
        var function: @Sendable (Argument) -> Result
    }

    private let kept: Guarded<Kept>

    /// Calls `function` until another one is set.
    package init(_ function: @escaping @Sendable (Argument) -> Result) {
        kept = Guarded(Kept(function: function))
    }

    /// Calls `function` from now on.
    package func set(_ function: @escaping @Sendable (Argument) -> Result) {
        kept.withLock { $0.function = function }
    }

    /// Calls the function, outside of the lock.
    package func callAsFunction(_ argument: Argument) -> Result {
        kept.withLock { $0 }.function(argument)
    }
}

extension Callback where Argument == Void {
    /// Calls the function, outside of the lock.
    package func callAsFunction() -> Result { self(()) }
}
