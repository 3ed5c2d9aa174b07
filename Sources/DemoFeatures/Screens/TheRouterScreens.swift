import Waypost

/// The controllers of TheRouter's own example application, under the names and paths that it gives them.
enum TheRouterScreens {
    static func routes(_ screens: DemoScreens) -> [Route] {
        [
            screens.page("scheme://router/demo", "TheRouter_Example.TheRouterController"),
            screens.page("scheme://router/demo1", "TheRouter_Example.TheRouterControllerA"),
            screens.page("scheme://router/demo2", "TheRouter_Example.TheRouterControllerB"),
            screens.page("scheme://router/demo2Android", "TheRouter_Example.TheRouterControllerB"),
            screens.page("scheme://router/demo3", "TheRouter_Example.TheRouterControllerC"),
        ]
    }
}
