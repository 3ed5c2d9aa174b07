/// How a destination is to be shown, with TheRouter's numbers on the wire.
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
/// the ``warnings``.
public struct Presentation: Sendable, Hashable {
    /// From `jumpType`: a number 0…5 or its digit; push when it is absent or invalid.
    public var jumpType: JumpType
    /// From `tabBarSelecIndex` (TheRouter's spelling): the tab of `showTab`, from 0.
    public var tabBarSelecIndex: Int?
    /// From `route_no_animation`: a number (other than 0 means true) or true, yes, false, no in any case.
    public var noAnimation: Bool?
    /// Hints that could not be read, as sentences.
    public var warnings: [String]

    /// A presentation by its parts.
    public init(jumpType: JumpType = .push, tabBarSelecIndex: Int? = nil, noAnimation: Bool? = nil) {
        self.jumpType = jumpType
        self.tabBarSelecIndex = tabBarSelecIndex
        self.noAnimation = noAnimation
        warnings = []
    }

    /// The hints among parameters.
    package init(_ parameters: RouteParameters) {
        self.init()
        if let hint = parameters[Self.jumpTypeKey] {
            if let number = Self.integer(hint), let type = JumpType(rawValue: number) {
                jumpType = type
            } else {
                warnings.append("jumpType is not 0 to 5: taken as push")
            }
        }
        if let hint = parameters[Self.tabBarSelecIndexKey] {
            if let number = Self.integer(hint), number >= 0 {
                tabBarSelecIndex = number
            } else {
                warnings.append("tabBarSelecIndex is not a number from 0: ignored")
            }
        }
        if let hint = parameters[Self.noAnimationKey] {
            noAnimation = Self.flag(hint)
            if noAnimation == nil {
                warnings.append("route_no_animation is not a truth value: ignored")
            }
        }
    }

    /// The hints as they are sent: `jumpType`, and the others where they were given.
    package var json: JSONValue {
        var members: [String: JSONValue] = [Self.jumpTypeKey: .int(Int64(jumpType.rawValue))]
        if let tabBarSelecIndex { members[Self.tabBarSelecIndexKey] = .int(Int64(tabBarSelecIndex)) }
        if let noAnimation { members[Self.noAnimationKey] = .bool(noAnimation) }
        return .object(members)
    }

    static let jumpTypeKey = "jumpType"
    static let tabBarSelecIndexKey = "tabBarSelecIndex"
    static let noAnimationKey = "route_no_animation"

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
