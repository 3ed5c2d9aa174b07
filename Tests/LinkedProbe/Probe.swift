import Waypost

/// Prints what a router finds in this executable, which stand in no list, and what opening the URLs of its arguments gives.
@main
struct Probe {
    static func main() async {
        let router = Router()
        do {
            try router.intercept("login", scope: .metadata("auth", true)) { _ in .stop(reason: "log in first")
            }
        } catch {
            print("failure", error)
        }
        let urls = CommandLine.arguments.dropFirst()
        if urls.isEmpty {
            for route in router.routes {
                print(
                    "route", route.path, route.className.isEmpty ? "-" : route.className, route.priority,
                    route.kind)
            }
            for service in router.services.services {
                let methods = service.methods.map { "\($0.name)\($0.idempotent ? "!" : "")" }
                print("service", service.name, methods.joined(separator: " "))
            }
            for failure in router.linkedFailures { print("failure", failure) }
        }
        for url in urls {
            let opening = await router.open(url, context: OpenContext(ref: "c-1", caller: "probe"))
            print(opening.code.name, opening.route ?? "-", opening.value?.text ?? "-", opening.detail)
        }
    }
}
