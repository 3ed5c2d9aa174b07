import MQTTLink
import WaypostBackend

/// Finds out whether two programs can be signed in under one user name at the same time.
///
/// A broker that makes client ids of user names ends the connection of the first when the second signs in.
struct SideBySideCheck {
    let settings: BackendConfiguration
    /// How many user names the person has, see ``Account``.
    let accounts: Int

    /// Nil when both stay, or when that can't be found out.
    func finding() async -> DoctorFinding? {
        guard let user = settings.credentials?.username,
            let first = try? await BackendSession.connect(settings, required: [])
        else { return nil }
        let second = try? await BackendSession.connect(settings, required: [])
        // The broker has answered the second one: what it does to the first it has done by now.
        let isAlone = second == nil ? false : (try? await first.fence()) == nil
        await second?.close()
        await first.close()
        guard isAlone else { return nil }
        guard accounts == 1 else {
            return DoctorFinding(
                "user name", .ok,
                "the broker has one connection for each; \(accounts) of yours can be in use at a time (\(user) is)"
            )
        }
        return DoctorFinding(
            "user name", .note,
            "the broker has one connection for each: a second program that signs in as \(user) ends the first one's",
            advice: "give each program its own user name; "
                + "if make-certs wrote the broker's users: --accounts 8 (waypost help broker)")
    }
}
