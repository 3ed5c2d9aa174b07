import ArgumentParser

extension ArgumentVisibility {
    /// Of options that many commands share: they have a page of their own in the help, and shells complete them.
    static var shared: ArgumentVisibility {
        Invocation.current.words.contains { $0.hasPrefix("--generate-completion-script") }
            ? .default : .hidden
    }
}
