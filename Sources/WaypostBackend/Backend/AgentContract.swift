public import Waypost
import WaypostMessages
package import WaypostTools

/// What an agent can open and call, against which commands are checked before they are sent.
public struct AgentContract {
    /// Routes, services and redirects.
    package let contract: RouterContract
    private let contractCheck: ContractCheck

    /// A contract as `waypost describe --json` writes it.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` when it is none, or when its routes are in conflict.
    public init(_ json: JSONValue) throws(BackendError) {
        let contract: RouterContract
        do {
            contract = try RouterContract(json)
        } catch {
            throw BackendError(.invalid, "the contract: \(error)")
        }
        try self.init(contract)
    }

    init(_ contract: RouterContract) throws(BackendError) {
        self.contract = contract
        contractCheck = try ContractCheck(contract)
    }

    /// Checks a command against it; nil when nothing speaks against it.
    ///
    /// What can't be known, such as where redirects lead, is passed over.
    public func check(_ command: AgentCommand) -> BackendError? {
        guard let fault = contractCheck.report(command.operation).fault else { return nil }
        var error = BackendError(.notSent, "\(fault.code): \(fault.detail)")
        (error.code, error.nearest) = (fault.code, fault.nearest)
        return error
    }
}
