import Waypost
import WaypostTools

/// What a generated client has, before it is written in a language.
struct ClientModel {
    /// What a value may be.
    indirect enum Kind: Equatable {
        case json, nothing, boolean, integer, number, text
        case choice([String])
        case list(Kind)
        case record(Kind)
        case optional(Kind)
    }

    struct Parameter {
        /// As the contract has it; `_` for one without a label.
        var name: String
        var kind: Kind
        var isRequired = true
        /// What else is known of it, in words.
        var note: String?
    }

    struct Method {
        /// Its name without the labels.
        var base: String
        /// As it is called.
        var name: String
        var arguments: [Parameter]
        var result: Kind
        var isIdempotent: Bool
    }

    struct Service {
        var name: String
        var methods: [Method]
    }

    struct Route {
        /// A piece of its URL: text as it stands there, or the number of one of the ``parameters``.
        enum Piece {
            case text(String)
            case value(Int)
        }

        var pattern: String
        var base: String
        var pieces: [Piece]
        /// Those of the path.
        var parameters: [Parameter]
        /// The others.
        var query: [Parameter]
        var isIdempotent: Bool
        /// What an open gives; nil when that is not known in advance.
        var answer: Kind?
    }

    var services: [Service] = []
    var routes: [Route] = []
    /// The patterns of routes that no function can be made of: `open` takes their URLs.
    var others: [String] = []

    /// Reads a contract.
    init(_ contract: RouterContract) {
        services = contract.services.map { service in
            Service(name: service.name, methods: service.methods.map(Method.init))
        }
        for route in contract.routes where route.kind != .web {
            if let known = Route(route, contract.settings.dialect) {
                routes.append(known)
            } else {
                others.append(route.path)
            }
        }
    }
}

extension ClientModel.Method {
    fileprivate init(_ method: MethodDescription) {
        base = String(method.name.prefix { $0 != "(" })
        name = method.name
        arguments = method.arguments.map { argument in
            let kind = ClientModel.Kind(argument.value)
            return ClientModel.Parameter(name: argument.label, kind: kind, isRequired: !kind.isOptional)
        }
        result = ClientModel.Kind(method.result)
        isIdempotent = method.idempotent
    }
}

extension ClientModel.Route {
    /// Nil for a pattern whose URLs have parts that no name stands for.
    fileprivate init?(_ route: RouteDescription, _ dialect: Dialect) {
        guard let pattern = (try? RoutePattern(route.path, syntax: dialect.syntax))?.rows.last else {
            return nil
        }
        self.init(
            pattern: route.path, base: "", pieces: [], parameters: [], query: [],
            isIdempotent: route.idempotent, answer: route.answer.map(ClientModel.Kind.init))
        var words: [String] = []
        add(text: pattern.scheme.map { "\($0)://" } ?? "")
        for (index, segment) in pattern.segments.enumerated() {
            if index > 0 { add(text: "/") }
            switch segment {
            case .literal(let text):
                words.append(text)
                add(text: PercentCoding.encode(text, for: .component))
            case .partial(let prefix, let name, let suffix, _):
                words += [prefix, name, suffix]
                add(text: PercentCoding.encode(prefix, for: .component))
                add(name, of: route)
                add(text: PercentCoding.encode(suffix, for: .component))
            case .several(let prefix, let parts):
                words.append(prefix)
                add(text: PercentCoding.encode(prefix, for: .component))
                for part in parts {
                    words += [part.name, part.suffix]
                    add(part.name, of: route)
                    add(text: PercentCoding.encode(part.suffix, for: .component))
                }
            case .typed(let name, _), .placeholder(let name):
                words.append(name)
                add(name, of: route)
            case .wildcard, .rest: return nil
            }
        }
        base = words.filter { !$0.isEmpty }.joined(separator: "_")
        query = route.parameters.filter { !$0.isInPath }.map {
            ClientModel.Parameter($0, route.defaults[$0.name])
        }
    }

    private mutating func add(text: String) {
        guard case .text(let before)? = pieces.last else {
            if !text.isEmpty { pieces.append(.text(text)) }
            return
        }
        pieces[pieces.count - 1] = .text(before + text)
    }

    private mutating func add(_ name: String, of route: RouteDescription) {
        let known = route.parameters.first { $0.isInPath && $0.name == name }
        pieces.append(.value(parameters.count))
        var parameter =
            known.map { ClientModel.Parameter($0, nil) } ?? ClientModel.Parameter(name: name, kind: .text)
        // In a path each value is a text, and there is always one.
        switch parameter.kind {
        case .boolean, .integer, .number, .text, .choice: break
        default: parameter.kind = .text
        }
        parameter.isRequired = true
        parameters.append(parameter)
    }
}

extension ClientModel.Parameter {
    fileprivate init(_ parameter: RouteParameter, _ value: JSONValue?) {
        name = parameter.name
        isRequired = parameter.isRequired && value == nil
        kind = ClientModel.Kind(parameter.schema)
        let isPlain = parameter.schema == ValueSchema(parameter.schema.kind)
        let notes = [
            parameter.summary, isPlain ? nil : parameter.schema.text,
            value.map { "\($0.stringValue ?? $0.text) unless given" },
        ]
        let known = notes.compactMap(\.self)
        note = known.isEmpty ? nil : known.joined(separator: "; ")
    }
}

extension ClientModel.Kind {
    var isOptional: Bool { if case .optional = self { true } else { false } }
    /// Whether it is one of some texts, or has such values in it.
    var hasChoice: Bool {
        switch self {
        case .choice: true
        case .list(let kind), .record(let kind), .optional(let kind): kind.hasChoice
        case .json, .nothing, .boolean, .integer, .number, .text: false
        }
    }

    fileprivate init(_ schema: ValueSchema) {
        self =
            if !schema.values.isEmpty {
                .choice(schema.values)
            } else {
                switch schema.kind {
                case .boolean: .boolean
                case .integer: .integer
                case .number: .number
                case .string: .text
                case .array: .list(.json)
                case .object: .record(.json)
                case nil: .json
                }
            }
    }

    /// The value of a method: by its Swift type, and where that says nothing by its schema.
    fileprivate init(_ value: MethodDescription.Value) {
        if value.type == "()" {
            self = .nothing
            return
        }
        let bySchema = Self(value.schema)
        if !value.schema.values.isEmpty {
            self = bySchema
        } else {
            let byType = Self(swift: value.type)
            self = byType == .json && value.type != "JSONValue" ? bySchema : byType
        }
        if value.isOptional, !isOptional { self = .optional(self) }
    }

    private init(swift type: String) {
        let wraps: [(String, (Self) -> Self)] = [
            ("Optional<", { .optional($0) }), ("Array<", { .list($0) }), ("Set<", { .list($0) }),
            ("Dictionary<String, ", { .record($0) }),
        ]
        for (begin, wrap) in wraps where type.hasPrefix(begin) && type.hasSuffix(">") {
            self = wrap(Self(swift: String(type.dropFirst(begin.count).dropLast())))
            return
        }
        self =
            switch type {
            case "Bool": .boolean
            case "String": .text
            case "Double", "Float": .number
            case "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64":
                .integer
            default: .json
            }
    }
}
