import Glibc
import Threading

/// One of a person's user names at the broker that no other program on this machine uses: `ops`, `ops.2`, `ops.3`.
///
/// A broker that makes client ids of user names has one connection for each: a second program that signs in ends the
/// first one's.
enum Account {
    /// The most that a setting may say: more than one person runs at a time.
    static let maximum = 100

    /// A user name that is free, and taken until the program ends; the same one for each call of it.
    ///
    /// - Parameters:
    ///   - place: the broker: at another one the same name is free.
    ///   - directory: where what is taken is locked; nil for the usual one.
    static func free(
        of name: String, count: Int, at place: String, directory: String? = nil
    ) throws(CommandError) -> String {
        guard count > 1 else { return name }
        let key = String(
            "\(place)-\(name)".map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }.prefix(120))
        let invocation = Invocation.current
        if let before = invocation.accounts.withLock({ $0[key] }) { return before.name }
        let directory = if let directory { directory } else { try folder() }
        for number in 1...count {
            let account = number == 1 ? name : "\(name).\(number)"
            guard let lock = try lock(account, "\(directory)/\(key).\(number)") else { continue }
            invocation.accounts.withLock { $0[key] = lock }
            return account
        }
        throw CommandError(
            .failed,
            "all \(count) user names of \(name) at the broker are in use by programs on this machine "
                + "(\(name) to \(name).\(count)); end one of them, or use another --username")
    }

    /// The lock of an account, which is ours now; nil when it is another's.
    private static func lock(_ account: String, _ path: String) throws(CommandError) -> HeldName? {
        let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw fault(path, errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return HeldName(account, descriptor) }
        let error = errno
        close(descriptor)
        guard error == EWOULDBLOCK else { throw fault(path, error) }
        return nil
    }

    /// The user's own folder for what lasts no longer than programs run.
    private static func folder() throws(CommandError) -> String {
        let path =
            UserFolder.runtime(Invocation.current.environment).map { "\($0)/waypost" }
            ?? "/tmp/waypost-\(geteuid())"
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw fault(path, errno) }
        var status = stat()
        guard lstat(path, &status) == 0 else { throw fault(path, errno) }
        // In /tmp another user may have made it first.
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & (S_IWGRP | S_IWOTH) == 0
        else {
            throw CommandError(
                .failed, "\(path) must be a directory that only you can write; it holds locks on user names")
        }
        return path
    }

    private static func fault(_ path: String, _ error: Int32) -> CommandError {
        CommandError(.failed, "lock a user name for the broker in \(path): \(Descriptor.text(of: error))")
    }
}
