import Waypost

/// Shows web pages; the web route, which takes the `http` and `https` URLs that no other route wants.
enum WebScreen {
    static let path = "scheme://webview/home"

    static let route = Route(path, name: "WebScreen", kind: .web, idempotent: true) { request in
        Screen.opened("WebScreen", request)
    }
}
