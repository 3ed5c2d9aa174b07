import Waypost
import WaypostBackend
import WaypostMessages

/// What is looked at: which page, how far back, which lines.
struct WatchView: Sendable {
    enum Page: Sendable, Equatable {
        case overview, help
        /// All of one agent.
        case agent(String)
    }

    /// The longest query that can be typed, in bytes.
    private static let longestQuery = 512

    private(set) var page = Page.overview
    /// Lines between the newest and the last one on the screen; of an agent's page, those above the screen.
    private(set) var offset = 0
    /// The agent that return shows.
    private(set) var selected: String?
    /// Which lines are shown, and how that was typed.
    private(set) var query: (text: String, query: LogQuery)?
    /// The query that is being typed.
    private(set) var typed: String?
    /// What is wrong with it.
    private(set) var fault: String?
    /// What was known when it was paused.
    private(set) var paused: WatchModel?
    private(set) var hasEnded = false

    /// Acts on a key.
    ///
    /// - Parameter rows: of the screen.
    mutating func pressed(_ key: WatchKey, _ model: WatchModel, rows: Int) {
        if typed != nil { return type(key) }
        let model = paused ?? model
        switch key {
        case .up, .scalar("k"): scroll(up: 1, model)
        case .down, .scalar("j"): scroll(up: -1, model)
        case .pageUp, .scalar("b"): scroll(up: max(1, rows / 2), model)
        case .pageDown: scroll(up: -max(1, rows / 2), model)
        case .home, .scalar("g"): scroll(up: model.lines.count, model)
        case .end, .scalar("G"): (offset, paused) = (0, nil)
        case .scalar(" "), .scalar("p"): (offset, paused) = paused == nil ? (offset, model) : (0, nil)
        case .scalar("/"): (typed, fault) = (query?.text ?? "", nil)
        case .tab, .scalar("n"): select(1, model)
        case .backTab, .scalar("N"): select(-1, model)
        case .enter:
            if selected == nil { select(1, model) }
            if let selected { show(.agent(selected)) }
        case .scalar("?"), .scalar("h"): show(page == .help ? .overview : .help)
        case .escape:
            if page == .overview { query = nil }
            show(.overview)
        case .scalar("q"), .scalar("Q"): hasEnded = true
        case .scalar, .backspace: break
        }
    }

    mutating func end() { hasEnded = true }

    private mutating func show(_ page: Page) { (self.page, offset) = (page, 0) }

    private mutating func scroll(up lines: Int, _ model: WatchModel) {
        if page == .overview {
            // What one reads must stay where it is.
            if lines > 0, paused == nil { paused = model }
            offset = min(max(0, offset + lines), model.count(of: query?.query))
        } else {
            offset = min(max(0, offset - lines), WatchModel.maximumLines)
        }
    }

    private mutating func select(_ step: Int, _ model: WatchModel) {
        let names = model.roster.summaries(now: 0).map(\.name)
        guard !names.isEmpty else { return }
        let place = selected.flatMap(names.firstIndex)
        let next = place.map { ($0 + step + names.count) % names.count } ?? (step > 0 ? 0 : names.count - 1)
        selected = names[next]
        if case .agent = page { show(.agent(names[next])) }
    }

    private mutating func type(_ key: WatchKey) {
        guard let text = typed else { return }
        switch key {
        case .scalar(let scalar):
            if text.utf8.count < Self.longestQuery { typed = text + String(Character(scalar)) }
        case .backspace: typed = String(String.UnicodeScalarView(text.unicodeScalars.dropLast()))
        case .escape: (typed, fault) = (nil, nil)
        case .enter:
            do throws(BackendError) {
                query = text.allSatisfy(\.isWhitespace) ? nil : (text, try LogQuery.read(text))
                (typed, fault, offset) = (nil, nil, 0)
            } catch {
                fault = error.wording.shell
            }
        default: break
        }
    }
}
