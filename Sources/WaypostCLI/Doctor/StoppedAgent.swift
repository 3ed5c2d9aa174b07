import WaypostAgent
import WaypostMessages

/// How the last run of an agent ended that does not run on this machine now, and what to do.
struct StoppedAgent {
    let found: String
    let advice: String

    /// - Throws: ``CommandError`` 1 when its state can't be read.
    init(directory: String) throws(CommandError) {
        let start = "start it: systemctl start waypost-agent, or waypost agent with its options"
        let state: StateInspection
        do throws(StoreError) {
            state = try StateInspection(directory: directory)
        } catch {
            throw CommandError(
                .failed, "the agent does not run, and its state can't be read: \(error.wording.shell)")
        }
        guard state.schema > 0 else {
            found = "no agent runs here, and none has run with the state directory \(directory)"
            advice = "is it the right directory (--state)? Then \(start)"
            return
        }
        let last = state.lastStored.map { "; it stored something last at \(Timestamp.local($0))" } ?? ""
        guard let run = state.run else {
            found = "the agent does not run\(last)"
            advice = start
            return
        }
        if let ended = run.ended {
            found = "the agent does not run: \(run.reason ?? "stopped") at \(Timestamp.local(ended))"
            advice = start
        } else {
            found =
                "the agent does not run, and was not stopped properly: process \(run.process) began at "
                + "\(Timestamp.local(run.began)) and crashed or was killed\(last)"
            advice =
                "systemctl status waypost-agent and journalctl -u waypost-agent -e say why, also when memory ran "
                + "out; then \(start)"
        }
    }
}
