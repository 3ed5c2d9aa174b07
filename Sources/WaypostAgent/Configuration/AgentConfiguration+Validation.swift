import WaypostMessages

extension AgentConfiguration {
    func validatedTopics() throws(AgentConfigurationError) -> Topics {
        guard Name.isValid(agent) else {
            throw fault("agent", agent, "must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        for group in groups where !Name.isValid(group) || group == "all" {
            throw fault("group", group, "must be 1 to 64 characters of A-Z a-z 0-9 _ -, and not all")
        }
        guard let topics = Topics(root: root) else {
            throw fault("root", root, "must be topic levels without wildcards, spaces or empty levels")
        }
        return topics
    }

    func validatedLogLevel() throws(AgentConfigurationError) -> LogLevel {
        guard let level = LogLevel(letter: logLevel) else {
            throw fault("log level", logLevel, "must be one of v d i w e f")
        }
        return level
    }

    func validateNumbers() throws(AgentConfigurationError) {
        for setting in AgentSetting.all where !setting.range.contains(setting.get(self)) {
            throw fault(
                setting.name, "\(setting.get(self))",
                "must be \(setting.range.lowerBound) to \(setting.range.upperBound) \(setting.unit)")
        }
    }

    func validateTrust() throws(AgentConfigurationError) {
        guard trust.count == 0 || (1...trust.count).contains(trust.threshold) else {
            throw fault(
                "trust threshold", "\(trust.threshold)", "must be 1 to \(trust.count), the number of keys")
        }
    }

    private func fault(_ setting: String, _ value: String, _ rule: String) -> AgentConfigurationError {
        AgentConfigurationError(description: "\(setting) \(value.debugDescription) \(rule)")
    }
}
