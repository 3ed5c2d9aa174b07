import Waypost

/// Shows web pages; the web route, which takes the `http` and `https` URLs that no other route wants.
enum WebScreen {
    static let path: RouteKey = "scheme://webview/home"

    static func route(_ screens: DemoScreens) -> Route { screens.page(path, "WebScreen", kind: .web) }
}
