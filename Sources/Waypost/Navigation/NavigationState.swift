/// A destination as it is shown.
public struct Screen: Sendable, Hashable, Codable {
    /// The destination's name, or its pattern when it has none.
    public var name: String
    /// The pattern that matched.
    public var route: String
    /// The URL that was opened.
    public var url: String
    /// The merged parameters.
    public var parameters: [String: JSONValue]
    /// How it is shown.
    public var presentation: Presentation
    /// The screens that should lie below it, the farthest first; none unless the open asks for them.
    public var parents: [Screen] = []

    /// A screen by its parts.
    public init(
        name: String, route: String, url: String, parameters: [String: JSONValue] = [:],
        presentation: Presentation = Presentation()
    ) {
        self.name = name
        self.route = route
        self.url = url
        self.parameters = parameters
        self.presentation = presentation
    }

    /// `{"name","url"}`; parameters are left out, and user info is masked, for they may be private: the caller that opens
    /// a screen sees what lies below it.
    var json: JSONValue {
        ["name": .string(name), "url": .string(Redaction().masked(RouteURL.withoutValues(url)))]
    }
}

/// What is shown: tabs with a stack each, and modals over them with a stack each.
///
/// It is `Codable`, so that a program can keep it and go on from it after a restart, see
/// ``NavigationStack/init(restoring:)``.
public struct NavigationState: Sendable, Hashable, Codable {
    /// The stacks of the tabs, the root of each first; at least one tab.
    public private(set) var tabs: [[Screen]]
    /// The tab in front.
    public private(set) var selectedTab = 0
    /// The stacks of the modals, the one in front last.
    public private(set) var modals: [[Screen]] = []

    /// A state with that many empty tabs; one at least.
    public init(tabs: Int = 1) {
        self.tabs = Array(repeating: [], count: max(1, tabs))
    }

    private enum CodingKeys: String, CodingKey { case tabs, selectedTab, modals }

    /// Reads a state that was kept.
    ///
    /// - Throws: `DecodingError` when it is none that could have been shown.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        tabs = try members.decode([[Screen]].self, forKey: .tabs)
        selectedTab = try members.decode(Int.self, forKey: .selectedTab)
        modals = try members.decode([[Screen]].self, forKey: .modals)
        guard tabs.indices.contains(selectedTab), modals.allSatisfy({ !$0.isEmpty }),
            count <= Self.maximumScreens
        else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "no such tab, an empty modal, or too many screens"))
        }
    }

    /// The most screens; beyond it, a push is an error.
    static let maximumScreens = 1000

    /// The stack in front.
    public var stack: [Screen] { modals.last ?? tabs[selectedTab] }
    /// The screen in front; nil before the first was shown.
    public var top: Screen? { stack.last }
    /// How many screens there are.
    package var count: Int { tabs.reduce(0) { $0 + $1.count } + modals.reduce(0) { $0 + $1.count } }

    /// Whether it is one that can be shown, as ``init(from:)`` wants.
    private var isConsistent: Bool {
        tabs.indices.contains(selectedTab) && modals.allSatisfy { !$0.isEmpty }
    }

    /// Shows a screen as its presentation says.
    ///
    /// - Throws: ``Failure`` when the tab does not exist or has another root, or when there are too many screens.
    mutating func show(_ screen: Screen) throws(Failure) {
        defer { assert(isConsistent) }
        guard
            count + screen.parents.count < Self.maximumScreens
                || screen.presentation.jumpType == .windowNavRoot
        else {
            throw Failure(.busy, "\(Self.maximumScreens) screens are open; there can't be more")
        }
        guard screen.parents.isEmpty else { return try showWithParents(screen) }
        switch screen.presentation.jumpType {
        case .modal: modals.append([screen])
        case .push: push(screen)
        case .popToTarget: popTo(screen)
        case .windowNavRoot:
            modals = []
            tabs = [[screen]]
            selectedTab = 0
        case .modalDismissBeforePush:
            modals = []
            push(screen)
        case .showTab: try showTab(screen)
        }
    }

    /// Goes back, or to another tab; whether anything changed.
    ///
    /// - Throws: ``Failure`` when the tab does not exist.
    mutating func move(_ move: NavigationMove) throws(Failure) -> Bool {
        defer { assert(isConsistent) }
        let before = self
        switch move {
        case .back: pop()
        case .dismiss: dismiss()
        case .popToRoot:
            modals = []
            tabs[selectedTab] = Array(tabs[selectedTab].prefix(1))
        case .showTab(let tab):
            try check(tab)
            modals = []
            selectedTab = tab
        }
        return self != before
    }

    /// Removes the screen in front and returns it; nil when only a root is left.
    ///
    /// A modal that is then empty closes.
    @discardableResult
    mutating func pop() -> Screen? {
        defer { assert(isConsistent) }
        guard var modal = modals.popLast() else {
            return tabs[selectedTab].count > 1 ? tabs[selectedTab].removeLast() : nil
        }
        let screen = modal.popLast()
        if !modal.isEmpty { modals.append(modal) }
        return screen
    }

    /// Closes the modal in front with all its screens; false when there is none.
    @discardableResult
    mutating func dismiss() -> Bool {
        defer { assert(isConsistent) }
        return modals.popLast() != nil
    }

    /// `{"tabs":[[screen]],"selected":n,"modals":[[screen]],"top":name}`.
    package var json: JSONValue { json(atMost: Self.maximumScreens) }

    /// The same with so many screens of each stack, and modals, those in front; `screens` then says how many there are.
    package func json(atMost limit: Int) -> JSONValue {
        func stacks(_ stacks: some Sequence<[Screen]>) -> JSONValue {
            .array(stacks.map { .array($0.suffix(limit).map(\.json)) })
        }
        var members: [String: JSONValue] = [
            "tabs": stacks(tabs), "selected": .int(Int64(selectedTab)),
            "modals": stacks(modals.suffix(limit)), "top": top.map { .string($0.name) } ?? .null,
        ]
        let isCut = modals.count > limit || (tabs + modals).contains { $0.count > limit }
        if isCut { members["screens"] = .int(Int64(count)) }
        return .object(members)
    }

    /// Shows a screen over its parents, as if someone had walked to it from the root of the tab.
    private mutating func showWithParents(_ screen: Screen) throws(Failure) {
        var shown = screen
        shown.parents = []
        if let tab = screen.presentation.tabBarSelecIndex {
            try check(tab)
            selectedTab = tab
        }
        modals = []
        let root = tabs[selectedTab].prefix(1).filter { root in
            !screen.parents.contains { $0.name == root.name }
        }
        tabs[selectedTab] = root + screen.parents + [shown]
    }

    private func check(_ tab: Int) throws(Failure) {
        guard tabs.indices.contains(tab) else {
            let last = tabs.count - 1
            let range =
                switch last {
                case 0: "the only tab is 0"
                case 1: "tabs are 0 and 1"
                default: "tabs are 0 to \(last)"
                }
            throw .badField("no tab \(tab); \(range)")
        }
    }

    private mutating func push(_ screen: Screen) {
        if modals.isEmpty {
            tabs[selectedTab].append(screen)
        } else {
            modals[modals.count - 1].append(screen)
        }
    }

    private mutating func popTo(_ screen: Screen) {
        guard let place = stack.lastIndex(where: { $0.name == screen.name }) else {
            push(screen)
            return
        }
        let kept = Array(stack[..<place]) + [screen]
        if modals.isEmpty {
            tabs[selectedTab] = kept
        } else {
            modals[modals.count - 1] = kept
        }
    }

    private mutating func showTab(_ screen: Screen) throws(Failure) {
        let tab = screen.presentation.tabBarSelecIndex ?? 0
        try check(tab)
        if let root = tabs[tab].first, root.name != screen.name {
            throw .badField("tab \(tab) shows \(root.name) and not \(screen.name)")
        }
        modals = []
        selectedTab = tab
        // The tab's own root stays; what was pushed over it goes, as when a finger taps the tab.
        tabs[tab] = tabs[tab].first.map { [$0] } ?? [screen]
    }
}
