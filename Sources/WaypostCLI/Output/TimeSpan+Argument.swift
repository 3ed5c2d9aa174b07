import ArgumentParser
import WaypostMessages

extension TimeSpan: ExpressibleByArgument {
    /// As it would be typed: the default in the help.
    package var defaultValueDescription: String {
        description.replacing(" min", with: "m").replacing(" ", with: "")
    }
}
