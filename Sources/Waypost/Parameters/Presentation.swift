/// How a destination must be shown, with TheRouter's numbers on the wire.
public enum JumpType: Int, Sendable, Hashable, CaseIterable, Codable {
    /// Shown over everything else.
    case modal = 0
    /// Pushed on the stack; also for an unknown number.
    case push = 1
    /// Goes back to the destination if it is in the stack, otherwise pushes it.
    case popToTarget = 2
    /// Becomes the root of the window.
    case windowNavRoot = 3
    /// Dismisses a modal first, then pushes.
    case modalDismissBeforePush = 4
    /// Selects a tab.
    case showTab = 5
}

/// The presentation hints among an open's parameters, typed.
///
/// They stay in the parameters too. An invalid hint does not stop an open: its default is used, and the router reports
/// what was wrong.
public struct Presentation: Sendable, Hashable, Codable {
    /// From `jumpType`: a number 0…5 or its digit, push for anything else; nil when the call has none.
    package var requested: JumpType?
    /// What counts when the call has none: the route's own, else the router's; push unless set.
    package var standard: JumpType
    /// From `tabBarSelecIndex` (TheRouter's spelling): the tab of `showTab`, from 0.
    public var tabBarSelecIndex: Int?
    /// From `route_no_animation`: a number (other than 0 means true) or true, yes, false, no in any case.
    public var noAnimation: Bool?
    /// From `route_parents`: whether the pages above it are to lie below it; read like `route_no_animation`.
    var withParents: Bool?
    /// Hints that could not be read, as sentences.
    package var warnings: [String]

    /// How the destination is shown: what the call asks for, else the standard.
    public var jumpType: JumpType { requested ?? standard }

    /// A presentation by its parts.
    public init(
        jumpType: JumpType? = nil, tabBarSelecIndex: Int? = nil, noAnimation: Bool? = nil,
        standard: JumpType = .push
    ) {
        requested = jumpType
        self.standard = standard
        self.tabBarSelecIndex = tabBarSelecIndex
        self.noAnimation = noAnimation
        warnings = []
    }

    /// The hints among parameters.
    init(_ parameters: RouteParameters, standard: JumpType = .push) {
        self.init(standard: standard)
        // Most opens have none: reading each key once costs less than asking every source for each hint.
        guard parameters.hasKey(where: Self.isHint) else { return }
        if let hint = parameters[Self.jumpTypeKey] {
            if let number = Self.integer(hint), let type = JumpType(rawValue: number) {
                requested = type
            } else {
                requested = .push
                warnings.append("jumpType must be 0 to 5; push is used")
            }
        }
        if let hint = parameters[Self.tabBarSelecIndexKey] {
            if let number = Self.integer(hint), number >= 0 {
                tabBarSelecIndex = number
            } else {
                warnings.append("tabBarSelecIndex must be a number from 0; it is ignored")
            }
        }
        if let hint = parameters[Self.noAnimationKey] {
            noAnimation = Self.flag(hint)
            if noAnimation == nil {
                warnings.append("route_no_animation must be true or false; it is ignored")
            }
        }
        if let hint = parameters[Self.parentsKey] {
            withParents = Self.flag(hint)
            if withParents == nil { warnings.append("route_parents must be true or false; it is ignored") }
        }
    }

    /// The hints as they are sent: `jumpType`, and the others where they were given.
    package var json: JSONValue {
        var members: [String: JSONValue] = [Self.jumpTypeKey: .int(Int64(jumpType.rawValue))]
        if let tabBarSelecIndex { members[Self.tabBarSelecIndexKey] = .int(Int64(tabBarSelecIndex)) }
        if let noAnimation { members[Self.noAnimationKey] = .bool(noAnimation) }
        if let withParents { members[Self.parentsKey] = .bool(withParents) }
        return .object(members)
    }

    static let jumpTypeKey = "jumpType"
    static let tabBarSelecIndexKey = "tabBarSelecIndex"
    static let noAnimationKey = "route_no_animation"
    static let parentsKey = "route_parents"

    private static func isHint(_ key: String) -> Bool {
        switch key.utf8.count {
        case jumpTypeKey.utf8.count: key == jumpTypeKey
        case tabBarSelecIndexKey.utf8.count: key == tabBarSelecIndexKey
        case noAnimationKey.utf8.count: key == noAnimationKey
        case parentsKey.utf8.count: key == parentsKey
        default: false
        }
    }

    private static func integer(_ hint: JSONValue) -> Int? {
        switch hint {
        case .string(let text):
            // Digits only: Int("+1") would be 1 too.
            text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
        default: hint.intValue.flatMap(Int.init(exactly:))
        }
    }

    private static func flag(_ hint: JSONValue) -> Bool? {
        switch hint {
        case .bool(let flag): flag
        case .int(let number): number != 0
        case .double(let number): number != 0
        case .string(let text): JSONTree.flag(text) ?? Double(text).map { $0 != 0 }
        default: nil
        }
    }
}
