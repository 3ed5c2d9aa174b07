import Synchronization
import Waypost

/// Who is logged in, shared by the screens that need it.
final class Account: Sendable {
    /// Opened by each login.
    let gate = OpenGate("login")
    private let name = Mutex<String?>(nil)

    var user: String? { name.withLock { $0 } }

    func login(_ user: String) {
        name.withLock { $0 = user }
        gate.open()
    }
}

/// Logs a user in: `scheme://router/login?user=NAME`.
enum LoginScreen {
    static func route(_ account: Account, _ screens: DemoScreens) -> Route {
        Route("scheme://router/login", name: "LoginScreen", idempotent: true) { request in
            if let user = try? request.parameters.value("user", as: String.self), !user.isEmpty {
                account.login(user)
            }
            return try await screens.open("LoginScreen", request)
        }
    }
}
