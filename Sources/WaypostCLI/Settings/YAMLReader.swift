import CYAML

/// One reading of a YAML text by libyaml, event by event.
///
/// Events and not documents: an alias makes a document larger than its text, and nothing behind a refused event is read.
struct YAMLReader: ~Copyable {
    /// What libyaml found next, and in which line, from 1.
    struct Event {
        enum Kind: Equatable {
            case scalar(String, isPlain: Bool)
            case sequence
            case mapping
            /// The end of a sequence or a mapping.
            case end
            case alias
            case document
            case documentEnd
            case streamEnd
        }

        var kind: Kind
        /// In full, as `tag:yaml.org,2002:str`; nil where none is written.
        var tag: String?
        var line: Int
    }

    /// Why a text is not YAML.
    struct Fault: Error {
        var line: Int
        var problem: String
    }

    // libyaml keeps pointers to both, so neither may move.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeMutableBufferPointer<UInt8>

    init(_ bytes: [UInt8]) {
        text = .allocate(capacity: bytes.count)
        _ = text.initialize(from: bytes)
        parser = .allocate(capacity: 1)
        parser.initialize(to: yaml_parser_t())
        // Without memory it stays empty, and `next` says so.
        _ = yaml_parser_initialize(parser)
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        text.deallocate()
    }

    /// The next event; none may be asked for after ``Event/Kind/streamEnd``.
    ///
    /// - Throws: ``Fault`` when the text is not YAML.
    mutating func next() throws(Fault) -> Event {
        while true {
            var event = yaml_event_t()
            defer { yaml_event_delete(&event) }
            guard yaml_parser_parse(parser, &event) == 1, event.type != YAML_NO_EVENT else { throw fault }
            if event.type != YAML_STREAM_START_EVENT { return Event(event) }
        }
    }

    private var fault: Fault {
        let state = parser.pointee
        guard let problem = state.problem.map({ String(cString: $0) }) else {
            return Fault(line: 1, problem: "there is no memory to read it with")
        }
        guard state.error != YAML_READER_ERROR else {
            // It has an offset in place of a line.
            let before = text.prefix(state.problem_offset)
            let byte = state.problem_value < 0 ? "" : ": 0x\(String(state.problem_value, radix: 16))"
            return Fault(
                line: before.count { $0 == UInt8(ascii: "\n") } + 1,
                problem: "not UTF-8 text, \(problem)\(byte)"
            )
        }
        let line = state.problem_mark.line
        var words = problem
        if let context = state.context {
            words += " \(String(cString: context))"
            if state.context_mark.line != line {
                words += " that begins in line \(state.context_mark.line + 1)"
            }
        }
        if !problem.contains("tab"), isIndentedByTab(line) {
            words += "; YAML indents by spaces, never by tabs"
        }
        return Fault(line: line + 1, problem: words)
    }

    private func isIndentedByTab(_ line: Int) -> Bool {
        let lines = text.split(
            separator: UInt8(ascii: "\n"), maxSplits: line + 1, omittingEmptySubsequences: false)
        guard line < lines.count else { return false }
        return lines[line].prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.contains(
            UInt8(ascii: "\t"))
    }
}

extension YAMLReader.Event {
    /// Copies what libyaml frees with its event.
    fileprivate init(_ event: yaml_event_t) {
        line = event.start_mark.line + 1
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let text = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            kind = .scalar(
                String(decoding: text, as: UTF8.self), isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
            tag = Self.text(scalar.tag)
        case YAML_SEQUENCE_START_EVENT:
            kind = .sequence
            tag = Self.text(event.data.sequence_start.tag)
        case YAML_MAPPING_START_EVENT:
            kind = .mapping
            tag = Self.text(event.data.mapping_start.tag)
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: kind = .end
        case YAML_ALIAS_EVENT: kind = .alias
        case YAML_DOCUMENT_START_EVENT: kind = .document
        case YAML_DOCUMENT_END_EVENT: kind = .documentEnd
        default: kind = .streamEnd
        }
    }

    private static func text(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        pointer.map { String(cString: $0) }
    }
}
