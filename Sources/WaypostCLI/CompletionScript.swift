import Waypost

/// The script with which a shell completes the command line: the parser's, which knows a value only as a word of its own,
/// taught to complete `--option=value` as well.
struct CompletionScript {
    let text: String

    /// - Parameter script: as the parser writes it, for bash, zsh or fish.
    init(_ script: String) {
        if script.hasPrefix("#compdef") {
            text = script.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                .map { Self.zsh(String(Substring($0))) }.joined(separator: "\n")
        } else if script.hasPrefix("#!/bin/bash") {
            text = script.replacing("\n_waypost() {", with: "\n_waypost_words() {", maxReplacements: 1)
                .replacing("\ncomplete ", with: "\n\(Self.bash)\ncomplete ", maxReplacements: 1)
        } else {
            // fish does it by itself.
            text = script
        }
    }

    /// Whether the command line asks for one.
    static func isWanted(by words: [String]) -> Bool {
        words.contains { $0.hasPrefix("--generate-completion-script") }
    }

    /// A line of `_arguments` for an option with a value: `--name=` takes it from the same word or from the next.
    private static func zsh(_ line: String) -> String {
        let spec = line.drop { $0 == " " || $0 == "'" || $0 == "*" }
        guard spec.hasPrefix("--") || line.contains(",--"), let open = line.firstIndex(of: "["),
            let close = closing(line[open...]), line[line.index(after: close)...].hasPrefix(":")
        else { return line }
        // `'--name[`, or `'(-n --name)'{-n,--name}'[`
        let end = line[..<open].hasSuffix("}'") ? line[..<open].dropLast(2).endIndex : open
        return line[..<end] + "=" + line[end...]
    }

    /// The bracket that ends what is said of an option.
    private static func closing(_ text: Substring) -> String.Index? {
        var isEscaped = false
        for index in text.indices {
            if isEscaped {
                isEscaped = false
            } else if text[index] == "\\" {
                isEscaped = true
            } else if text[index] == "]" {
                return index
            }
        }
        return nil
    }

    private static let bash = #"""
        # --name=value is three words where = divides words, and one where it does not; here it is two.
        _waypost() {
            local -a all=("${COMP_WORDS[@]}") words=()
            local -i index at=0
            local word kept=''
            for index in "${!all[@]}"; do
                word="${all[index]}"
                if [[ "${word}" = '=' && "${#words[@]}" -gt 0 && "${words[${#words[@]} - 1]}" = --?* ]]; then
                    [[ "${index}" -eq "${COMP_CWORD}" ]] && at="${#words[@]}" && words+=('')
                    continue
                elif [[ "${word}" = --?*=* ]]; then
                    words+=("${word%%=*}")
                    [[ "${index}" -eq "${COMP_CWORD}" ]] && kept="${word%%=*}="
                    word="${word#*=}"
                fi
                [[ "${index}" -eq "${COMP_CWORD}" ]] && at="${#words[@]}"
                words+=("${word}")
            done
            if [[ "${#words[@]}" -eq "${#all[@]}" && -z "${kept}" ]]; then
                _waypost_words "${@}"
                return
            fi
            local -a COMP_WORDS=("${words[@]}")
            local -i COMP_CWORD="${at}"
            _waypost_words "${1}" "${words[at]}" "${words[at > 0 ? at - 1 : 0]}"
            for index in "${!COMPREPLY[@]}"; do COMPREPLY[index]="${kept}${COMPREPLY[index]}"; done
        }

        """#
}
