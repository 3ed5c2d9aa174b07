import Foundation
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// Every function of `RolloutState` in every state, held against the page Architecture.
@Suite struct RolloutStateTests {
    /// A line of the page: `steering -> paused : … (pauseBegan)`.
    struct Arrow: Hashable, CustomStringConvertible {
        let from: String
        let to: String
        let function: String

        var description: String { "\(from) -> \(to) (\(function))" }
    }

    /// Something that happens: a function with arguments.
    struct Event: CustomTestStringConvertible {
        let function: String
        /// Whether it says that it happened; nil where it does not say.
        let apply: @Sendable (inout RolloutState) -> Bool?

        init(_ function: String, says apply: @escaping @Sendable (inout RolloutState) -> Bool) {
            self.function = function
            self.apply = { apply(&$0) }
        }

        init(_ function: String, _ apply: @escaping @Sendable (inout RolloutState) -> Void) {
            self.function = function
            self.apply = {
                apply(&$0)
                return nil
            }
        }

        var testDescription: String { function }
    }

    /// Each state with each of the payloads that decide what may follow.
    static let states: [RolloutState] =
        [.reading, .steering] + both.flatMap { first in both.map { pause(isPromoted: first, isWatched: $0) } }
        + both.map { .promoting(since: 1, isPublished: $0) } + [
            .takingBack(back), .restoring(back), .tail(since: 1),
        ]
        + outcomes.flatMap { [.ending($0), .ended($0)] }

    static let both = [false, true]
    static let back = RolloutState.Return(why: "a gate broke", since: 1)
    static let outcomes: [RolloutOutcome] = [
        .done, .takenBack(why: "a gate broke"), .paused(why: "evidence is missing"),
        .superseded(by: "another"),
    ]

    static func pause(isPromoted: Bool, isWatched: Bool) -> RolloutState {
        .paused(.init(why: "somebody paused it", since: 1, isPromoted: isPromoted, isWatched: isWatched))
    }

    /// Each function that changes a state, with all arguments that make a difference.
    static let events: [Event] =
        [RolloutControl.State.running, .paused, .promoting, .takingBack].flatMap { word in
            both.flatMap { isPromoted in
                both.map { isRestored in
                    Event("tookOver") {
                        $0.tookOver(control(word), isPromoted: isPromoted, isRestored: isRestored, at: 2)
                    }
                }
            }
        }
        + [
            Event("stageBegan", says: { $0.stageBegan() }),
            Event("pauseBegan", says: { $0.pauseBegan("another reason", isWatched: true, at: 2) }),
            Event("pauseBegan", says: { $0.pauseBegan("another reason", isWatched: false, at: 2) }),
            Event("promotionBegan", says: { $0.promotionBegan(at: 2) }),
            Event("mapWasPublished") { $0.mapWasPublished() },
            Event("promotionEnded") { $0.promotionEnded(at: 2) },
            Event("returnBegan", says: { $0.returnBegan("another reason", at: 2) }),
            Event("allWasPublished") { $0.allWasPublished() },
            Event("superseded") { $0.superseded(by: "a third one") },
        ] + outcomes.map { outcome in Event("ends") { $0.ends(outcome) } }

    private static func control(_ word: RolloutControl.State) -> RolloutControl {
        RolloutControl(
            id: "r1", epoch: 1, sequence: 1, audience: "@all", at: 0, base: nil,
            next: .init(revision: 2, digest: "d"), state: word)
    }

    private static func name(_ state: RolloutState) -> String {
        String(String(describing: state).prefix { $0 != "(" })
    }

    /// The lines of the page.
    private static func arrows() throws -> Set<Arrow> {
        var page = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { page.deleteLastPathComponent() }
        page.appendPathComponent("Sources/WaypostAgent/WaypostAgent.docc/Architecture.md")
        let line = /(\w+) +-> (\w+) +: .*\((\w+)\)/
        return Set(
            try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
                .compactMap { try? line.wholeMatch(in: $0)?.output }
                .map { Arrow(from: String($0.1), to: String($0.2), function: String($0.3)) })
    }

    @Test(arguments: states) func `goes where the page says, and nowhere else`(before: RolloutState) throws {
        let listed = try Self.arrows()
        #expect(Set(listed.map(\.function)) == Set(Self.events.map(\.function)))
        for event in Self.events {
            var after = before
            let says = event.apply(&after)
            let arrow = Arrow(from: Self.name(before), to: Self.name(after), function: event.function)
            // What can't follow changes nothing, and says so.
            if after != before || says == true { #expect(listed.contains(arrow), "\(before) to \(after)") }
            if !listed.contains(arrow) { #expect(says != true, "\(arrow) said that it happened") }
        }
    }

    @Test func `has a way for each line of the page`() throws {
        var found: Set<Arrow> = []
        for before in Self.states {
            for event in Self.events {
                var after = before
                let says = event.apply(&after)
                guard after != before || says == true else { continue }
                found.insert(Arrow(from: Self.name(before), to: Self.name(after), function: event.function))
            }
        }
        #expect(try found == Self.arrows())
    }

    @Test(arguments: states) func `goes back as it says beforehand`(before: RolloutState) {
        var after = before
        let didBegin = after.returnBegan("somebody wants it back", at: 2)
        switch before.goBack("somebody wants it back") {
        case .takeBack: #expect(Self.name(after) == "takingBack" && didBegin)
        case .restore: #expect(Self.name(after) == "restoring" && didBegin)
        case .pause: Issue.record("going back is no pause")
        // Only what is restored already may be so once more, for the controller before published no map.
        case nil: #expect(Self.name(after) == Self.name(before))
        }
    }

    @Test(arguments: states) func `leaves an end for nothing but its own`(before: RolloutState) {
        guard before.isOver else { return }
        for event in Self.events {
            var after = before
            _ = event.apply(&after)
            #expect(after.isOver)
            if before.outcome != nil { #expect(after == before, "\(event.function) changed how it ended") }
        }
    }
}
