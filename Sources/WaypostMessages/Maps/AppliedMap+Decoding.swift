package import Waypost

extension AppliedMap {
    /// Reads what an agent published on `map/applied`.
    ///
    /// - Throws: ``Failure`` naming the field that is not as the protocol has it.
    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        var layers: [Layer] = []
        for layer in fields["layers"]?.arrayValue ?? [] { layers.append(try Layer(layer)) }
        var inactive: [Inactive] = []
        for entry in fields["inactive"]?.arrayValue ?? [] { inactive.append(try Inactive(entry)) }
        var conditional: [Conditional] = []
        for entry in fields["conditional"]?.arrayValue ?? [] { conditional.append(try Conditional(entry)) }
        var refused: Refused?
        if let json = fields["refused"] { refused = try Refused(json) }
        self.init(
            layers: layers, entries: Int(clamping: try fields.integer("entries") ?? 0), inactive: inactive,
            conditional: conditional, refused: refused,
            nextPatch: try fields["nextPatch"].map(NextPatch.init),
            omitted: Int(clamping: try fields.integer("omitted") ?? 0))
        for json in fields["rollouts"]?.arrayValue ?? fields["rollout"].map({ [$0] }) ?? [] {
            rollouts.append(try RolloutReport(json))
        }
        isWanted = fields["want"] == true
    }
}

extension AppliedMap.NextPatch {
    init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        self.init(
            base: try fields.required("base", fields.integer("base")),
            revision: try fields.required("rev", fields.integer("rev")))
    }
}

extension AppliedMap.Layer {
    init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        self.init(
            name: try fields.required("layer", fields.text("layer")),
            revision: try fields.integer("rev"),
            digest: try fields.text("digest") ?? "",
            at: try fields.integer("at") ?? 0)
    }
}

extension AppliedMap.Inactive {
    init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        self.init(
            layer: try fields.required("layer", fields.text("layer")),
            index: Int(clamping: try fields.integer("index") ?? 0),
            reason: try fields.text("reason") ?? "")
    }
}

extension AppliedMap.Conditional {
    init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        self.init(
            layer: try fields.required("layer", fields.text("layer")),
            index: Int(clamping: try fields.integer("index") ?? 0),
            state: try fields.text("state") ?? "", reason: try fields.text("reason") ?? "")
    }
}

extension AppliedMap.Refused {
    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        let number = try fields.required("code", fields.integer("code"))
        let name = try fields.required("name", fields.text("name"))
        self.init(
            layer: try fields.required("layer", fields.text("layer")),
            revision: try fields.integer("rev"),
            digest: try fields.text("digest") ?? "",
            code: Code(number: Int(clamping: number), name: name),
            detail: try fields.text("detail") ?? "",
            at: try fields.integer("at") ?? 0)
    }
}
