/// A service that may be called from outside, as it is listed.
public struct ServiceDescription: Sendable, Hashable {
    /// The name for callers.
    public var name: String
    /// Its methods, in the order in which they were exposed.
    public var methods: [MethodDescription]

    package init(name: String, methods: [MethodDescription]) {
        self.name = name
        self.methods = methods
    }
}

/// An argument with a default value, which is for callers an optional one.
private protocol DefaultedType {
    static var optional: String { get }
}

extension OmittableArgument: DefaultedType {
    fileprivate static var optional: String {
        ValueSchema.isOptional(Value.self) ? "\(Value.self)" : "\(Value?.self)"
    }
}

/// A method that may be called from outside, as it is listed.
public struct MethodDescription: Sendable, Hashable {
    /// What an argument or a result is.
    package struct Value: Sendable, Hashable {
        /// The Swift type; `()` for no result, and an optional for an argument with a default value.
        package var type: String
        /// What it is in JSON, as far as it is known.
        package var schema: ValueSchema
        /// Whether it may be absent.
        package var isOptional: Bool

        /// Whether it is no result.
        var isVoid: Bool { type == Self.void }

        private static let void = "\(Void.self)"

        init(type: String, schema: ValueSchema, isOptional: Bool) {
            self.type = type
            self.schema = schema
            self.isOptional = isOptional
        }

        /// That of a type.
        init(of type: Any.Type) {
            self.type = (type as? any DefaultedType.Type)?.optional ?? "\(type)"
            schema = ValueSchema(of: type)
            isOptional = ValueSchema.isOptional(type)
        }
    }

    /// One argument.
    package struct Argument: Sendable, Hashable {
        /// The label; `_` for none.
        package var label: String
        /// What it is.
        package var value: Value

        /// The Swift type.
        package var type: String { value.type }

        package init(label: String, value: Value) {
            self.label = label
            self.value = value
        }
    }

    /// The Swift name: `add(a:b:)`.
    public var name: String
    /// The Objective-C selector: `addWithA:b:`.
    package var selector: String
    /// The arguments in order.
    package var arguments: [Argument]
    /// The result.
    package var result: Value
    /// Whether a call that a crash interrupted may run again.
    package var idempotent: Bool

    package init(
        name: String, selector: String, arguments: [Argument], result: Value, idempotent: Bool
    ) {
        self.name = name
        self.selector = selector
        self.arguments = arguments
        self.result = result
        self.idempotent = idempotent
    }
}

/// Something that happened in a service call, for logs.
public struct ServiceEvent: Sendable, Hashable {
    /// What happened.
    public enum Kind: String, Sendable, Hashable {
        /// The method is about to run.
        case called
        /// It returned.
        case returned
        /// It failed, or the call was refused before it ran.
        case threw
    }

    /// What happened.
    public var kind: Kind
    /// The service as the caller named it.
    public var service: String
    /// The method as the caller named it, or its Swift name once it was found.
    public var method: String
    /// The id of the command that calls, if there is one.
    public var ref: String?
    /// The code and sentence of a failure; empty otherwise.
    public var detail: String
    /// The failure's code; `ok` when there is none.
    public var code: Code

    /// An event by its parts, for tests of a listener; a registry makes its own.
    public init(
        kind: Kind, service: String, method: String, ref: String? = nil, detail: String = "", code: Code = .ok
    ) {
        self.kind = kind
        self.service = service
        self.method = method
        self.ref = ref
        self.detail = detail
        self.code = code
    }

    /// Whether this is TheRouter's log type 1.
    public var isError: Bool { kind == .threw }
}

extension MethodDescription.Value {
    /// `{"swiftType","type",…,"optional"}`.
    package var members: [String: JSONValue] {
        var members = schema.members
        members["swiftType"] = .string(type)
        if isOptional { members["optional"] = true }
        return members
    }

    package init(_ json: JSONValue) {
        self.init(
            type: json["swiftType"]?.stringValue ?? "", schema: ValueSchema(json.objectValue ?? [:]),
            isOptional: json["optional"] == true)
    }
}
