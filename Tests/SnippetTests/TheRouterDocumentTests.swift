import Testing
import Threading
import Waypost
import WaypostTools

/// The examples of TheRouter's readme 1.1.4, which has all those of 1.1.0, from its top to its end, as the rows of the
/// page ComingFromTheRouter map them.
///
/// Further ones are in `ComingFromClaims` and `ComingFromSnippets`: what differs on purpose, the chain of the builder as a
/// snippet, the interceptor that redirects to the login. Through a broker they are in `ReferenceExamplesTests`. The file
/// of features 11 and 19 is in `CacheTableTests`.
///
/// Only on iOS:
/// - CocoaPods, Storyboards, and the jump of view controllers itself; its numbers are tested here
/// - the scan for classes: `addGloableRouter([".The"], …)`, `objc_copyClassNamesForImage`, `org.cocoapods`
/// - `TheRouterBController`: an Objective-C class with a subclass in Swift
/// - `NSKVONotifyingPrefix`: names of classes that KVO changes
@Suite struct `The readme of TheRouter` {
    private struct TheRouterModel: Codable, Sendable, Equatable {
        var name: String
        var age: Int
    }

    private typealias QrScanResultCallBack = @Sendable (_ qrResult: String, _ qrStatus: Bool) -> Void

    /// Row `TheRouterable`: `registerAction` is the initializer, and what it returned is the object.
    private struct TheRouterController: RoutablePage {
        let qrResultCallBack: QrScanResultCallBack?
        let resultLabel: [String: JSONValue]

        init(from request: RouteRequest) {
            qrResultCallBack = request.parameters.object("clouse")
            resultLabel = request.parameters.merged
        }

        var object: (any Sendable)? { self }
    }

    private static let className = "TheRouter_Example.TheRouterController"
    private static let classes = [
        ("demo", className), ("demo1", className + "A"), ("demo2", className + "B"),
        ("demo3", className + "C"),
    ]

    private func emptyRouter(webPath: RouteKey? = nil) -> Router {
        Router(
            configuration: RouterConfiguration(
                dialect: .theRouter, webPath: webPath, registersLinked: false))
    }

    /// The screens of the readme's application under their class names, each with its parameters as the value.
    private func application(webPath: RouteKey? = nil) throws -> Router {
        let router = emptyRouter(webPath: webPath)
        for (path, name) in Self.classes {
            try router.register("scheme://router/\(path)", name: name) { request in
                .opened(.object(request.parameters.merged))
            }
        }
        return router
    }

    private func patch(_ router: Router, _ relocationMap: JSONValue) throws {
        try router.patch(RelocationEntry.list([relocationMap]))
    }

    // MARK: Features

    @Test(arguments: zip(["0", "1", "2", "3", "4", "5"], JumpType.allCases))
    func `1, each jump type has its number`(number: String, type: JumpType) async throws {
        let opening = try await application().open("scheme://router/demo?jumpType=\(number)")
        #expect(opening.presentation.jumpType == type)
    }

    /// Row `writeRouterMapToFile`.
    @Test(arguments: [RouteExportFormat.json, .plist])
    func `3 and 7, the map of routes is exported with its keys`(format: RouteExportFormat) throws {
        let text = try application().export.text(format)
        guard format == .json else { return #expect(text.contains("<string>scheme://router/demo1</string>")) }
        let rows = try JSONValue(parsing: text).arrayValue ?? []
        #expect(rows.map { $0["path"] } == Self.classes.map { path, _ in .string("scheme://router/\(path)") })
        #expect(rows.map { $0["class"] } == Self.classes.map { _, name in .string(name) })
        #expect(rows.allSatisfy { $0["priority"] == 0 })
    }

    /// Rows `lazyRegisterRouterHandle` and `ModuleProtocol`.
    @Test func `1 and 6, a module is set up when the first URL is opened, and only once`() async {
        struct Demo: RouteModule {
            let setUps: @Sendable () -> Void
            var routes: [Route] { [Route("scheme://router/demo") { _ in .opened() }] }
            func setUp() async throws { setUps() }
        }
        let count = Guarded(0)
        let router = emptyRouter()
        router.declare([Demo { count.withLock { $0 += 1 } }])
        #expect(count.withLock { $0 } == 0)
        #expect(await router.open("scheme://router/demo").isSuccess)
        #expect(await router.open("scheme://router/demo").isSuccess)
        #expect(count.withLock { $0 } == 1)
    }

    // MARK: Sign up

    /// Row `TheRouterable`; with the trait `Macros` it is `@Routable("scheme://router/demo", priority: 1000)`.
    @Test func `a page of a pattern gets the parameters and the closure`() async throws {
        let router = emptyRouter()
        try router.register([
            Route("scheme://router/demo", to: TheRouterController.self, priority: 1000),
            // `@page(@"home/main")`
            Route("home/main", to: TheRouterController.self),
        ])
        #expect(router.routes.map(\.priority) == [0, 1000])
        let scanned = Guarded<[String]>([])
        let clouse: QrScanResultCallBack = { qrResult, qrStatus in
            scanned.withLock { $0.append("\(qrResult) \(qrStatus)") }
        }
        // "Parameter passing mode"
        let model = TheRouterModel(name: "AKyS", age: 18)
        let opening = await router.open(
            "scheme://router/demo?id=2&value=3&name=AKyS", objects: ["model": model, "clouse": clouse])
        let page = try #require(opening.object(as: TheRouterController.self))
        #expect(page.resultLabel == ["id": "2", "value": "3", "name": "AKyS"])
        page.qrResultCallBack?("code", true)
        #expect(scanned.withLock { $0 } == ["code true"])
        #expect(opening.parameters.object("model") == model)
        #expect(await router.open("scheme://home/main").isSuccess)
    }

    /// Row `logcat`; its type 1 is ``RouterEvent/isError``.
    @Test func `the log gets URL, type and text`() async throws {
        let router = try application()
        let log = Guarded<[String]>([])
        router.observe { event in
            log.withLock { $0.append("\(event.url) \(event.isError ? 1 : 0) \(event.detail)") }
        }
        _ = await router.open("scheme://router/demo")
        _ = await router.open("scheme://router/demo33")
        #expect(
            log.withLock { $0 } == [
                "scheme://router/demo 0 will open scheme://router/demo",
                "scheme://router/demo 0 opened scheme://router/demo",
                "scheme://router/demo33 0 will open scheme://router/demo33",
                "scheme://router/demo33 1 no route matches scheme://router/demo33; similar are "
                    + "scheme://router/demo3, scheme://router/demo, scheme://router/demo1",
            ])
    }

    /// "How can OC classes also enjoy Swift routes" and "Routes match different Android-based paths".
    @Test(arguments: ["scheme://router/demo2-Android", "scheme://router/demo2Android"])
    func `one page has several patterns`(android: String) async throws {
        let router = emptyRouter()
        let patternString = ["scheme://router/demo2", android]
        try router.register(patternString.map { Route(RouteKey($0), to: TheRouterController.self) })
        for url in patternString {
            #expect(await router.open(url).object(as: TheRouterController.self) != nil)
        }
    }

    /// Row `addRouterItem`.
    ///
    /// The text behind the `?` takes no part in matching.
    @Test(arguments: [
        ("scheme://router/demo?&desc=简单注册,直接调用TheRouter.addRouterItem()注册即可", Self.className),
        (
            "scheme://router/demo?&desc= Simple registration, directly call TheRouter.addRouterItem() registration ",
            Self.className
        ),
        ("scheme://router/demo? & desc = simple registration ", "TheRouter_Example. TheRouterController"),
        ("scheme://router/demo", Self.className),
    ])
    func `a path is registered for a class by its name`(path: String, className: String) async throws {
        let router = emptyRouter()
        try router.register(.destination(className) { _ in .opened(.string(className)) })
        try router.register(Route(RouteKey(path), to: className))
        #expect(await router.open("scheme://router/demo").value == .string(className))
        #expect(await router.open(path).value == .string(className))
        // "Remove": by the text of the pattern.
        #expect(router.unregister(RouteKey(path)))
        #expect(await router.open("scheme://router/demo").code == .noRoute)
    }

    @Test func `paths are registered in bulk, and removed`() async throws {
        let router = emptyRouter()
        for name in [Self.className, Self.className + "A"] {
            try router.register(.destination(name) { _ in .opened(.string(name)) })
        }
        try router.register([
            Route("scheme://router/demo", to: "TheRouter_Example.TheRouterController"),
            Route("scheme://router/demo1", to: "TheRouter_Example.TheRouterControllerA"),
        ])
        #expect(
            await router.open("scheme://router/demo1").value == "TheRouter_Example.TheRouterControllerA")
        #expect(router.unregister("scheme://router/demo1"))
        #expect(!router.canOpen("scheme://router/demo1"))
        #expect(router.canOpen("scheme://router/demo"))
    }

    // MARK: Open

    /// Row `TheRouterBuilder`: `navigation { params, instance in }` is what `open` returns.
    @Test(arguments: [nil, "sdsd"])
    func `a chain carries its values with their types`(stringValue: String?) async throws {
        let model = TheRouterModel(name: "AKyS", age: 18)
        var chain = RouteBuilder.build("scheme://router/demo")
            .withInt(key: "intValue", value: 2)
            .withFloat(key: "floatValue", value: 3.1415)
            .withBool(key: "boolValue", value: false)
            .withDouble(key: "doubleValue", value: 2.0)
            .withAny(key: "any", value: model)
        if let stringValue { chain = chain.withString(key: "stringValue", value: stringValue) }
        let opening = try await chain.open(with: application())
        var expected: [String: JSONValue] = [
            "intValue": 2, "floatValue": 3.1415, "boolValue": false, "doubleValue": 2.0,
            "any": ["name": "AKyS", "age": 18],
        ]
        expected["stringValue"] = stringValue.map { .string($0) }
        #expect(opening.value == .object(expected))
        #expect(opening.parameters.object("any") == model)
    }

    /// Row `CustomRouterInfo`, `requiredURL`.
    @Test(arguments: [RouteKey.theRouterApi, .theRouterAApi])
    func `a constant opens with its jump type`(key: RouteKey) async throws {
        let opening = try await application().open(key, ["jumpType": 1])
        #expect(opening.route == key.rawValue)
        #expect(opening.presentation.requested == .push)
    }

    /// Rows `openWebURL(url)` and `openURL(url) { param, instance in }`; the application's own service and web addresses
    /// are the row `injectRouterServiceConfig`.
    @Test(arguments: ["https://xxxxxxxx", "https://therouter.cn/"])
    func `web URLs go to the web page, also by a redirect`(url: String) async throws {
        let router = try application(webPath: "scheme://webview/home")
        try router.register("scheme://webview/home", kind: .web) { request in
            .opened(request.parameters["url"], object: 7)
        }
        let opening = await router.open(url)
        #expect(opening.value == .string(url))
        #expect(opening.parameters.merged == ["url": .string(url), "jumpType": "1"])
        #expect(opening.object(as: Int.self) == 7)
        // Background, question 5: a page that does not work is replaced by one of the web.
        try patch(
            router, ["routerType": 1, "orginPath": "scheme://router/demo", "targetPath": .string(url)])
        #expect(await router.open("scheme://router/demo").value == .string(url))
    }

    /// The text is the readme's, with its spaces: the first key is " id", as it is in TheRouter.
    @Test func `text in a URL needs no encoding, and parameters are added`() async throws {
        let text =
            " Directly call TheRouter.addRouterItem() registration can be, support single registration, "
            + "batch registration, dynamic registration, lazy loading dynamic registration"
        let opening = try await application().open(
            "scheme://router/demo1? id=2&value=3&name=AKyS&desc=\(text) ",
            parameters: ["descs": "Add parameters "])
        #expect(
            opening.value == [
                " id": "2", "value": "3", "name": "AKyS", "desc": .string(text), "descs": "Add parameters ",
            ])
    }

    // MARK: Failures, interceptors, checks

    /// Row `globalOpenFailedHandler`.
    @Test func `every failure is heard of`() async throws {
        let router = try application()
        let failed = Guarded<[Opening]>([])
        router.onFailure { info in failed.withLock { $0.append(info) } }
        _ = await router.open("scheme://router/demo")
        _ = await router.open("scheme://router/demo33", parameters: ["id": 2])
        _ = await router.open("")
        let info = try #require(failed.withLock { $0 }.first)
        #expect(failed.withLock { $0.map(\.code) } == [.noRoute, .badField])
        #expect(info.parameters.merged == ["id": 2])
    }

    /// Row `addRouterInterceptor(list, priority:)`, in the form of the readme: it opens the login itself.
    @Test func `without a login the login is opened, and after it the interceptor goes`() async throws {
        let router = try application()
        let login = "scheme://router/login"
        let isLogin = Guarded(false)
        try router.register(RouteKey(login)) { _ in
            isLogin.withLock { $0 = true }
            return .opened()
        }
        let handle = try router.intercept("login", priority: 0, scope: .allBut([RouteKey(login)])) {
            [weak router] _ in
            guard !isLogin.withLock({ $0 }) else { return .proceed }
            _ = await router?.open(login)
            return .stop(reason: "log in first")
        }
        #expect(await router.open("scheme://router/demo").code == .intercepted)
        #expect(isLogin.withLock { $0 })
        #expect(await router.open("scheme://router/demo").isSuccess)
        handle.cancel()
        isLogin.withLock { $0 = false }
        #expect(await router.open("scheme://router/demo").isSuccess)
    }

    /// Row `routerForceRecheck()`: both differences, of paths and of classes.
    @Test func `paths and classes that do not agree are named`() throws {
        let router = try application()
        let apis = Self.classes.map {
            RouteDescription(path: "scheme://router/\($0)", className: $1)
        }
        #expect(router.check(declared: apis).isClean)
        let wrong = router.check(
            declared: apis.dropLast(2) + [
                RouteDescription(path: "scheme://router/demo2", className: Self.className + "X"),
                RouteDescription(path: "scheme://router/demo33", className: Self.className + "C"),
            ])
        #expect(wrong.findings(.declaredNotRegistered).map(\.subject) == ["scheme://router/demo33"])
        #expect(wrong.findings(.registeredNotDeclared).map(\.subject) == ["scheme://router/demo3"])
        #expect(wrong.findings(.wrongClass).map(\.subject) == ["scheme://router/demo2"])
    }

    // MARK: Dynamic call routing

    /// Row `addRelocationHandle(routerMapList:)`: the three maps of the readme, one after the other.
    @Test func `a page is redirected and restored, and a wrong path is repaired`() async throws {
        let router = try application()
        func route(_ url: String) async -> String? { await router.open(url).route }
        try patch(
            router,
            ["routerType": 1, "targetPath": "scheme://router/demo1", "orginPath": "scheme://router/demo"])
        let yellow = await router.open("scheme://router/demo?desc=跳转白色界面被重定向到了黄色界面")
        #expect(yellow.route == "scheme://router/demo1")
        #expect(yellow.value == ["desc": "跳转白色界面被重定向到了黄色界面"])
        try patch(
            router,
            ["routerType": 4, "targetPath": "scheme://router/demo", "orginPath": "scheme://router/demo"])
        #expect(
            await route("scheme://router/demo?desc=跳转白色界面被重定向到了黄色界面之后，根据下发数据又恢复到跳转白色界面")
                == "scheme://router/demo")
        #expect(await router.open(.theRouterCApi).code == .noRoute)
        try patch(
            router,
            [
                "routerType": 2, "className": "TheRouter_Example.TheRouterControllerC",
                "path": "scheme://router/demo33",
            ])
        #expect(await router.open(.theRouterCApi).route == "scheme://router/demo33")
        #expect(await route("scheme://router/demo3") == "scheme://router/demo3")
        // `TheRouterInfo` names a fourth type that has no example: 3 removes a path.
        try patch(router, ["routerType": 3, "path": "scheme://router/demo33"])
        #expect(await router.open(.theRouterCApi).code == .noRoute)
    }

    // MARK: Services

    protocol AppConfigServiceProtocol: Sendable {
        func openMiniProgram(info: [String: JSONValue])
    }

    private final class ConfigModuleService: AppConfigServiceProtocol {
        let opened = Guarded<[[String: JSONValue]]>([])
        func openMiniProgram(info: [String: JSONValue]) { opened.withLock { $0.append(info) } }
    }

    /// Row `fetchService(P.self)`; the service's name is that of its protocol.
    @Test func `a service is fetched by its protocol`() throws {
        let router = emptyRouter()
        let service = ConfigModuleService()
        router.services.register((any AppConfigServiceProtocol).self, instance: service)
        let appConfigService = try router.services.fetch((any AppConfigServiceProtocol).self)
        appConfigService.openMiniProgram(info: [:])
        #expect(service.opened.withLock { $0 } == [[:]])
        #expect(try router.services.fetch(named: "AppConfigServiceProtocol") is ConfigModuleService)
    }

    /// Row `scheme://services?protocol=…`.
    @Test func `a service is called by the URL of the readme`() async throws {
        let router = emptyRouter()
        let service = ConfigModuleService()
        router.services.register((any AppConfigServiceProtocol).self, instance: service)
        try router.services.expose(
            ExposedService("AppConfigServiceProtocol", of: (any AppConfigServiceProtocol).self) {
                Exposed("openMiniProgram(info:)") {
                    (service: any AppConfigServiceProtocol, info: [String: JSONValue]) in
                    service.openMiniProgram(info: info)
                }
            })
        let dict: [String: JSONValue] = ["ivar1": ["key": "value"]]
        let url =
            "scheme://services?protocol=AppConfigServiceProtocol&method=openMiniProgramWithInfo:&resultType=0"
        #expect(await router.open(url, parameters: dict).outcome == .served(.null))
        #expect(service.opened.withLock { $0 } == [["key": "value"]])
        // `routerService`: without protocol or method nothing is called.
        #expect(
            await router.open("scheme://services?method=openMiniProgramWithInfo:").code == .badField)
        #expect(await router.open("scheme://services?protocol=AppConfigServiceProtocol").code == .badField)
    }
}

extension RouteKey {
    fileprivate static let theRouterApi: RouteKey = "scheme://router/demo"
    fileprivate static let theRouterAApi: RouteKey = "scheme://router/demo1"
    /// Written wrongly in a released build.
    fileprivate static let theRouterCApi: RouteKey = "scheme://router/demo33"
}
