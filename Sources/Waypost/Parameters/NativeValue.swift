/// A value of this process that can't be written as JSON: a screen, a model, a closure.
///
/// Two are equal when they are copies of one.
struct NativeValue: Sendable, Hashable {
    private final class Box: Sendable {
        let value: any Sendable

        init(_ value: any Sendable) { self.value = value }
    }

    private let box: Box

    /// A native value.
    init(_ value: any Sendable) { box = Box(value) }

    /// The value itself.
    var value: any Sendable { box.value }

    /// Whether both are copies of one.
    static func == (one: NativeValue, other: NativeValue) -> Bool { one.box === other.box }

    /// Feeds which one it is.
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(box)) }
}
