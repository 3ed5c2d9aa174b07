extension RoutePattern {
    /// A URL that it takes; nil when a custom converter decides.
    package var sample: RouteURL? {
        let samples = [
            "int": "4711", "double": "47.11", "bool": "true", "uuid": "6a2f41a3-c54c-4fbb-8a0d-3f2b6f6c0a11",
        ]
        func sample(_ converter: String) -> String? {
            samples[converter] ?? PatternConstraint(converter)?.sample
        }
        var components: [String] = []
        for segment in segments {
            switch segment {
            case .literal(let text): components.append(text)
            case .partial(let prefix, _, let suffix, let converter):
                guard let text = converter.map(sample) ?? "waypost~sample" else { return nil }
                components.append(prefix + text + suffix)
            case .several(let prefix, let parts):
                var component = prefix
                for part in parts {
                    guard let text = part.converter.map(sample) ?? "waypost~sample" else { return nil }
                    component += text + part.suffix
                }
                components.append(component)
            case .typed(_, let converter):
                guard let text = sample(converter) else { return nil }
                components.append(text)
            case .placeholder, .wildcard: components.append("waypost~sample")
            case .rest: components += ["waypost~sample", "waypost~sample"]
            }
        }
        return try? RouteURL(scheme: scheme ?? "", components: components)
    }
}
