import FoundationEssentials
import Glibc
import Waypost
import WaypostMessages

/// The profiles of this user: files with the settings of a broker, by name, and which of them is in use.
struct ProfileStore: Sendable {
    /// `~/.config/waypost`, unless `XDG_CONFIG_HOME` says otherwise.
    let directory: String

    /// The user's own.
    ///
    /// - Throws: ``CommandError`` 64 when it is not known where the user's files are.
    static var user: ProfileStore {
        get throws(CommandError) {
            guard let base = UserFolder.config(Invocation.current.environment) else {
                throw CommandError(
                    .usage,
                    "profiles are kept in ~/.config/waypost; HOME is not set, and this account has no home")
            }
            return ProfileStore(directory: base + "/waypost")
        }
    }

    private var current: String { directory + "/current-profile" }

    /// The file of a profile; settings as `--config` reads them.
    func file(of name: String) -> String { "\(directory)/profiles/\(name).yaml" }

    /// All of them.
    var names: [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory + "/profiles")) ?? []
        return files.compactMap { file in
            guard file.hasSuffix(".yaml") else { return nil }
            let name = String(file.dropLast(5))
            return Name.isValid(name) ? name : nil
        }.sorted()
    }

    /// The one that counts where none is named; nil when there is none.
    ///
    /// - Throws: ``CommandError`` 64 when the file names none: without a word the default broker would be used.
    var inUse: String? {
        get throws(CommandError) {
            guard access(current, F_OK) == 0 else { return nil }
            let bytes = try InputFile.read(current, purpose: "profile in use")
            var line = bytes[...]
            // Its end, and nothing behind it: of several lines it would not be known which is meant.
            for end in [UInt8(ascii: "\n"), UInt8(ascii: "\r")] where line.last == end { line.removeLast() }
            let name = String(decoding: line, as: UTF8.self)
            guard Name.isValid(name) else {
                throw CommandError(
                    .usage,
                    "\(current) names no profile: \(name.quoted); run: waypost profile use NAME, or: waypost profile use --none"
                )
            }
            return name
        }
    }

    /// The brokers that a profile names, for a sentence.
    func broker(of name: String) throws(CommandError) -> String {
        try SettingsFile(file(of: name)).settings["broker"]?.value.texts.joined(separator: ", ")
            ?? "no broker"
    }

    /// Throws 64, with the near names, when there is no such profile.
    func check(_ name: String) throws(CommandError) {
        guard Name.isValid(name), names.contains(name) else {
            let near = NearestNames.find(name, among: names, limit: 1, slips: 2)
            throw CommandError(
                .usage,
                "there is no profile \(name)\(NearestNames.question(near)) (see waypost profile list)")
        }
    }

    /// Writes a profile; only the user can read it.
    func write(_ text: String, as name: String) throws(CommandError) { try write(text, to: file(of: name)) }

    /// Makes it the one that counts where none is named.
    func use(_ name: String) throws(CommandError) {
        try check(name)
        try write(name + "\n", to: current)
    }

    /// No profile counts any more unless it is named.
    func useNone() throws(CommandError) { try delete(current) }

    func remove(_ name: String) throws(CommandError) {
        try check(name)
        if (try? inUse) == name { try useNone() }
        try delete(file(of: name))
    }

    private func delete(_ path: String) throws(CommandError) {
        guard unlink(path) == 0 || errno == ENOENT else {
            throw CommandError(.failed, "remove \(path): \(Descriptor.text(of: errno))")
        }
    }

    private func write(_ text: String, to path: String) throws(CommandError) {
        func fault(_ error: Int32 = errno) -> CommandError {
            CommandError(.failed, "write \(path): \(Descriptor.text(of: error))")
        }
        let made = UserFolder.make(directory + "/profiles")
        guard made == 0 else {
            throw CommandError(.failed, "make \(directory)/profiles: \(Descriptor.text(of: made))")
        }
        // Written beside it and moved, so that no half of a file is ever there.
        let draft = OutputFile.draft(of: path)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw fault() }
        var error = Descriptor.write(Array(text.utf8), to: descriptor)
        if error == 0, fsync(descriptor) != 0 { error = errno }
        if Glibc.close(descriptor) != 0, error == 0 { error = errno }
        if error == 0, rename(draft, path) != 0 { error = errno }
        guard error == 0 else {
            unlink(draft)
            throw fault(error)
        }
    }
}
