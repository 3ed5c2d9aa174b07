import Glibc
import Threading
import Waypost
import WaypostAgent
import WaypostBackend
import WaypostMessages

/// What this machine knows of its agent: what it answers on its sockets, its settings, its state, its unit and its journal.
struct LocalBundle {
    /// An agent that is well answers in a moment, and so does a system.
    private static let patience = Duration.seconds(10)
    private static let journalLines = "5000"
    /// As many pages as the failures that are kept need.
    private static let pages = 50

    let name: String
    let directory: String
    var systemd = "/run/systemd/system"
    var programs = "/usr/bin"
    let progress: (AgentBundle.Part) -> Void

    /// - Throws: `CancellationError` when the task is cancelled.
    func add(to bundle: inout AgentBundle, _ settings: Settings) async throws {
        bundle.add(
            "local/settings.json", "settings of the agent, as they are read here", await document(settings))
        progress(of: bundle)
        try take("local/health.json", "health, asked for over the agent's socket", &bundle) {
            () throws(CommandError) in
            try AgentSocket.ask(.health, in: directory, within: Self.patience)
        }
        try take("local/failures.json", "failures that the agent still has, the newest first", &bundle) {
            () throws(CommandError) in try failures()
        }
        try take("local/maps.json", "maps in force, page after page", &bundle) { () throws(CommandError) in
            try pages(of: "maps") { .maps(MapsRequest(before: $0)) }
        }
        try take(
            "local/state.json", "tables of the agent's state, without what commands and maps hold", &bundle
        ) {
            () throws(CommandError) in try tables()
        }
        let units = ["waypost-agent.service", "waypost-agent@\(name).service"]
        try await add(
            "local/unit.txt", "units of systemd", to: &bundle, "systemctl",
            ["show", "--no-pager", "--property=\(Self.properties)"] + units)
        try await add(
            "local/journal.txt", "the last lines of the units' journal", to: &bundle, "journalctl",
            ["--no-pager", "--output=short-iso-precise", "--lines=\(Self.journalLines)"]
                + units.map { "--unit=\($0)" })
    }

    /// None of them is an environment, or a line that may have a password.
    private static let properties =
        "Id,LoadState,ActiveState,SubState,Result,ExecMainPID,ExecMainStatus,ExecMainStartTimestamp,NRestarts,"
        + "StateChangeTimestamp,MemoryCurrent,MemoryPeak,CPUUsageNSec,FragmentPath,DropInPaths"

    private func progress(of bundle: AgentBundle) { if let part = bundle.parts.last { progress(part) } }

    private func take(
        _ file: String, _ text: String, _ bundle: inout AgentBundle,
        _ body: () throws(CommandError) -> JSONValue
    ) throws {
        try Task.checkCancellation()
        let started = WallClock.now()
        do throws(CommandError) {
            let json = try body()
            bundle.add(file, text, json, asOf: json["at"]?.boundedInt, since: started)
        } catch {
            bundle.miss(file, text, error.description, since: started)
        }
        progress(of: bundle)
    }

    // MARK: The agent

    private func failures() throws(CommandError) -> JSONValue {
        try pages(of: "failures") { .failures(FailureRequest(before: $0 ?? Fields.largestInteger)) }
    }

    /// Asks until the agent has no further page.
    private func pages(
        of what: String, _ operation: (_ before: Int64?) -> Command.Operation
    ) throws(CommandError) -> JSONValue {
        var results: [JSONValue] = []
        var before: Int64?
        for _ in 0..<Self.pages {
            let request = Command(sending: operation(before)).encoded() + [UInt8(ascii: "\n")]
            let answer = try AgentSocket.ask(.commands, request, in: directory, within: Self.patience)
            guard answer["status"] == "ok", let result = answer["result"] else {
                throw CommandError(
                    .failed,
                    "the agent refused to show its \(what): \(answer["detail"]?.stringValue ?? "no reason given")"
                )
            }
            results.append(result)
            guard let next = result["next"]?.boundedInt, next != before else { break }
            before = next
        }
        return ["at": .int(WallClock.now()), "pages": .array(results)]
    }

    private func tables() throws(CommandError) -> JSONValue {
        guard !StateInspection.isInUse(directory: directory) else {
            throw CommandError(.failed, "the running agent uses it, and lets no other program read it")
        }
        do throws(StoreError) {
            return try StateInspection.tables(directory: directory)
        } catch {
            throw CommandError(.failed, error.wording.shell)
        }
    }

    // MARK: Settings

    /// All that are set, each as text; the bundle masks what is secret.
    private func document(_ settings: Settings) async -> JSONValue {
        var members: [String: JSONValue] = ["state-directory": .string(directory)]
        if let profile = settings.profile { members["profile"] = .string(profile) }
        for setting in SettingNames.all {
            if let texts = try? await settings.texts(setting), !texts.isEmpty {
                members[setting] = texts.count == 1 ? .string(texts[0]) : .array(texts.map(JSONValue.string))
            } else if let number = try? await settings.number(setting) {
                members[setting] = .int(Int64(number))
            } else if (try? await settings.flag(setting)) == true {
                members[setting] = true
            }
        }
        return .object(members)
    }

    // MARK: systemd

    /// Adds what a program of systemd prints.
    private func add(
        _ file: String, _ text: String, to bundle: inout AgentBundle, _ program: String, _ arguments: [String]
    ) async throws {
        let started = WallClock.now()
        do {
            guard access(systemd, F_OK) == 0 else {
                throw CommandError(.failed, "this machine runs no systemd: there is no \(systemd)")
            }
            let lines = try await output(of: "\(programs)/\(program)", arguments)
            bundle.add(file, text, lines: lines, since: started)
        } catch let error as CommandError {
            bundle.miss(file, text, error.description, since: started)
        }
        progress(of: bundle)
    }

    private func output(of program: String, _ arguments: [String]) async throws -> [String] {
        var template = Array("\(Invocation.variable("TMPDIR") ?? "/tmp")/waypost-collect-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else {
            throw CommandError(
                .failed, "make a file for what \(program) prints: \(Descriptor.text(of: errno))")
        }
        defer { close(file) }
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        unlink(template)
        let child = try ChildProcess(program, arguments, log: "/proc/\(getpid())/fd/\(file)", group: 0)
        let limit = Task {
            try await MonotonicTime.sleep(for: Self.patience)
            kill(child.pid, SIGKILL)
        }
        let status = await withTaskCancellationHandler {
            await child.status
        } onCancel: {
            Scheduling.undisturbed { _ = kill(child.pid, SIGKILL) }
        }
        limit.cancel()
        try Task.checkCancellation()
        let lines = try Self.lines(of: file, program)
        guard status == 0 else {
            let last = lines.last.map { ": \($0)" } ?? ""
            throw CommandError(.failed, "\(program) ended with \(status)\(last)")
        }
        return lines
    }

    /// The last lines that a program wrote into a file, as many as a bundle takes.
    private static func lines(of file: Int32, _ program: String) throws(CommandError) -> [String] {
        let limit = 4 << 20
        let size = lseek(file, 0, SEEK_END)
        var bytes = [UInt8](repeating: 0, count: Int(min(max(0, size), off_t(limit))))
        let count = pread(file, &bytes, bytes.count, max(0, size - off_t(limit)))
        guard count >= 0 else {
            throw CommandError(.failed, "read what \(program) printed: \(Descriptor.text(of: errno))")
        }
        return bytes.prefix(count).split(separator: UInt8(ascii: "\n")).map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}
