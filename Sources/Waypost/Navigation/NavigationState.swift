/// A destination as it is shown.
public struct Screen: Sendable, Hashable {
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

    /// The screen of an open.
    public init(_ request: RouteRequest, name: String? = nil) {
        self.init(
            name: name ?? request.route, route: request.route, url: request.url.text,
            parameters: request.parameters.merged, presentation: request.presentation)
    }

    /// `{"name","url"}`; parameters are left out, for they may be private.
    package var json: JSONValue { ["name": .string(name), "url": .string(url)] }
}

/// What is shown: tabs with a stack each, and modals over them with a stack each.
public struct NavigationState: Sendable, Hashable {
    /// The stacks of the tabs, the root of each first; at least one tab.
    public private(set) var tabs: [[Screen]]
    /// The tab in front.
    public private(set) var selectedTab = 0
    /// The stacks of the modals, the one in front last.
    public private(set) var modals: [[Screen]] = []

    /// A state with that many empty tabs; one at least.
    package init(tabs: Int = 1) {
        self.tabs = Array(repeating: [], count: max(1, tabs))
    }

    /// The most screens; beyond it, a push is an error.
    package static let maximumScreens = 1000

    /// The stack in front.
    public var stack: [Screen] { modals.last ?? tabs[selectedTab] }
    /// The screen in front; nil before the first was shown.
    public var top: Screen? { stack.last }
    /// How many screens there are.
    public var count: Int { tabs.reduce(0) { $0 + $1.count } + modals.reduce(0) { $0 + $1.count } }

    /// Shows a screen as its presentation says.
    ///
    /// - Throws: ``Rejection`` when the tab does not exist or has another root, or when there are too many screens.
    package mutating func show(_ screen: Screen) throws(Rejection) {
        guard count < Self.maximumScreens || screen.presentation.jumpType == .windowNavRoot else {
            throw Rejection(.busy, "\(Self.maximumScreens) screens are open; there can't be more")
        }
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

    /// Removes the screen in front and returns it; nil when only a root is left.
    ///
    /// A modal that is then empty closes.
    @discardableResult
    package mutating func pop() -> Screen? {
        guard var modal = modals.popLast() else {
            return tabs[selectedTab].count > 1 ? tabs[selectedTab].removeLast() : nil
        }
        let screen = modal.popLast()
        if !modal.isEmpty { modals.append(modal) }
        return screen
    }

    /// Closes the modal in front with all its screens; false when there is none.
    @discardableResult
    package mutating func dismiss() -> Bool {
        modals.popLast() != nil
    }

    /// `{"tabs":[[screen]],"selected":n,"modals":[[screen]],"top":name}`.
    package var json: JSONValue {
        func stacks(_ stacks: [[Screen]]) -> JSONValue { .array(stacks.map { .array($0.map(\.json)) }) }
        return [
            "tabs": stacks(tabs), "selected": .int(Int64(selectedTab)), "modals": stacks(modals),
            "top": top.map { .string($0.name) } ?? .null,
        ]
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

    private mutating func showTab(_ screen: Screen) throws(Rejection) {
        let tab = screen.presentation.tabBarSelecIndex ?? 0
        guard tabs.indices.contains(tab) else {
            throw .badField("tabBarSelecIndex is none of the \(tabs.count) tabs")
        }
        if let root = tabs[tab].first, root.name != screen.name {
            throw .badField("tab \(tab) shows \(root.name) and not \(screen.name)")
        }
        modals = []
        selectedTab = tab
        // The tab's own root stays; what was pushed over it goes, as when a finger taps the tab.
        tabs[tab] = tabs[tab].first.map { [$0] } ?? [screen]
    }
}
