/// A value behind a reference: handing it on costs one count, not one for each of its parts.
final class Boxed<Value: Sendable>: Sendable {
    let value: Value

    init(_ value: consuming Value) { self.value = value }
}
