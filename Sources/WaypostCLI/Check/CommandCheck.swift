import Threading
import Waypost
import WaypostBackend
import WaypostMessages
import WaypostTools

/// Checks commands of a backend, as they are sent, against a contract.
struct CommandCheck {
    private let check: AgentContract
    private let hasServices: Bool

    /// - Parameter hasServices: Whether the contract says what may be called; a list of routes alone does not.
    init(_ check: AgentContract, hasServices: Bool) {
        self.check = check
        self.hasServices = hasServices
    }

    /// What is wrong, or doubtful, about one command.
    ///
    /// - Parameters:
    ///   - bytes: Nil for one that is longer than a command may be.
    ///   - subject: Where it is written, for instance `commands.jsonl:3`.
    func findings(_ bytes: [UInt8]?, at subject: String) -> [CheckReport.Finding] {
        func finding(_ kind: CheckReport.Finding.Kind, _ detail: String) -> CheckReport.Finding {
            CheckReport.Finding(kind: kind, subject: subject, detail: detail)
        }
        do {
            guard let bytes else {
                throw Failure(.tooLarge, "the line is longer than a command may be")
            }
            let json = try JSONValue(parsing: bytes, limits: .protocolDefaults)
            let command = try Command(id: Command.id(in: json), fields: json, arrival: WallClock.now())
            var doubts = command.warnings
            if case .call = command.operation, !hasServices {
                doubts.append(
                    "\(command.id): the services are not known: a list of routes has none, the contract of an agent has them"
                )
                return doubts.map { finding(.doubtfulCommand, $0) }
            }
            let report = check.report(command.operation)
            doubts += report.warnings
            let faults = report.fault.map { fault in
                let question = NearestNames.question(NearestNames.unnamed(fault.nearest, in: fault.detail))
                return finding(.badCommand, "\(command.id): \(fault.code): \(fault.detail)\(question)")
            }
            return [faults].compactMap(\.self)
                + doubts.map { finding(.doubtfulCommand, "\(command.id): \($0)") }
        } catch let fault as Failure {
            return [finding(.badCommand, "\(fault.code): \(fault.detail)")]
        } catch {
            let fault = (error as? JSONError)?.rejection ?? Failure(.badJSON, error.words)
            return [finding(.badCommand, "\(fault.code): \(fault.detail)")]
        }
    }
}
