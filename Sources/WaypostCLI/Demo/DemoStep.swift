import Waypost
import WaypostMessages

/// One thing that the backend of the demo does, and the result it must have.
struct DemoStep: Sendable {
    enum Action: Sendable {
        case command(Command.Operation)
        /// A command whose `exp` has passed.
        case late(Command.Operation)
        /// Bytes that are no command.
        case raw(String)
        case patch(JSONValue)
        case map(revision: Int64, JSONValue)
        case stopAgent
        /// A command to an agent that is away, which is then started.
        case commandWhileAway(Command.Operation)
    }

    enum Expectation: Sendable {
        /// A reply with that code; `value` is what the result, or the opened screen, must be.
        case reply(Code, value: JSONValue? = nil)
        /// The document is in force.
        case applied
        /// The document is refused, and the map in force stays.
        case mapRefused(Code)
        /// A failure report, for there is no sender to reply to.
        case failure(Code)
        case offline
    }

    var caption: String
    var action: Action
    var expectation: Expectation

    static func open(
        _ url: String, _ parameters: [String: JSONValue] = [:], shows screen: String
    ) -> DemoStep {
        DemoStep(
            caption: "open \(url)\(parameters.isEmpty ? "" : " with \(JSONValue.object(parameters))")",
            action: .command(.open(url: url, parameters: parameters)),
            expectation: .reply(.ok, value: .string(screen)))
    }

    static func open(_ url: String, _ code: Code) -> DemoStep {
        DemoStep(
            caption: "open \(url)", action: .command(.open(url: url, parameters: [:])),
            expectation: .reply(code))
    }

    static func call(
        _ service: String, _ method: String, _ arguments: Command.Arguments, gives value: JSONValue? = nil
    ) -> DemoStep {
        call(service, method, arguments, .reply(.ok, value: value))
    }

    static func call(
        _ service: String, _ method: String, _ arguments: Command.Arguments, _ code: Code
    ) -> DemoStep {
        call(service, method, arguments, .reply(code))
    }

    private static func call(
        _ service: String, _ method: String, _ arguments: Command.Arguments, _ expectation: Expectation
    ) -> DemoStep {
        let shown: JSONValue =
            switch arguments {
            case .positional(let values): .array(values)
            case .labeled(let members): .object(members)
            }
        return DemoStep(
            caption: "call \(service) \(method) \(shown)",
            action: .command(.call(service: service, method: method, arguments: arguments)),
            expectation: expectation)
    }

    static func patch(_ caption: String, _ entries: JSONValue) -> DemoStep {
        DemoStep(caption: caption, action: .patch(entries), expectation: .applied)
    }
}
