// Where a run of the tests begins. SwiftPM knows the file by its name, and then looks for no tests of XCTest, for which
// it would need an index of all sources: a fifth of the time of a build.
import Testing

@main
enum Main {
    static func main() async {
        await Testing.__swiftPMEntryPoint() as Never
    }
}
