/// A change of what is shown that opens nothing.
public enum NavigationMove: Sendable, Hashable {
    /// Removes the screen in front; a modal whose last it was closes.
    case back
    /// Closes the modal in front with all its screens.
    case dismiss
    /// Closes all modals, and goes back to the root of the tab.
    case popToRoot
    /// Closes all modals, and brings the tab of this number to the front as it was left, counted from 0.
    case showTab(Int)

    /// The names of all, as they are sent.
    package static let names = ["back", "dismiss", "popToRoot", "showTab"]

    /// Reads a move; nil for an unknown name, and for `showTab` without a tab.
    package init?(name: String, tab: Int? = nil) {
        switch (name, tab) {
        case ("back", _): self = .back
        case ("dismiss", _): self = .dismiss
        case ("popToRoot", _): self = .popToRoot
        case ("showTab", let tab?): self = .showTab(tab)
        default: return nil
        }
    }

    /// The name, as it is sent.
    package var name: String {
        switch self {
        case .back: "back"
        case .dismiss: "dismiss"
        case .popToRoot: "popToRoot"
        case .showTab: "showTab"
        }
    }

    /// The tab of `showTab`.
    package var tab: Int? { if case .showTab(let tab) = self { tab } else { nil } }

    /// Whether doing it twice is the same as doing it once.
    var isIdempotent: Bool {
        switch self {
        case .back, .dismiss: false
        case .popToRoot, .showTab: true
        }
    }
}
