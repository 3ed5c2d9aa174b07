extension StringProtocol {
    /// The columns that a terminal gives the text.
    var columns: Int {
        utf8.allSatisfy { $0 < 0x80 } ? utf8.count : reduce(0) { $0 + $1.columns }
    }
}

extension String {
    /// As many characters as fit into `columns`, with an ellipsis when something was cut.
    func fitted(to columns: Int) -> String {
        guard columns > 0 else { return "" }
        var used = 0
        var fits = startIndex
        for index in indices {
            let width = self[index].columns
            if used + width > columns { return self[..<fits] + "…" }
            used += width
            // Space for the ellipsis if more follows than fits.
            if used < columns { fits = self.index(after: index) }
        }
        return self
    }

    /// The text in lines of at most `columns`, broken at spaces, or within a word that is longer than a line.
    func wrapped(to columns: Int) -> [String] {
        guard columns > 0, self.columns > columns else { return [self] }
        var lines: [String] = []
        var line = ""
        var used = 0
        for word in split(separator: " ") {
            if used > 0, used + 1 + word.columns > columns {
                lines.append(line)
                (line, used) = ("", 0)
            }
            if used > 0 {
                line += " "
                used += 1
            }
            for character in word {
                if used > 0, used + character.columns > columns {
                    lines.append(line)
                    (line, used) = ("", 0)
                }
                line.append(character)
                used += character.columns
            }
        }
        return lines + [line]
    }

    /// With spaces up to a width, and at least so many.
    func padding(to width: Int, atLeast spaces: Int = 1) -> String {
        self + String(repeating: " ", count: max(spaces, width - columns))
    }
}

extension Character {
    /// The columns that a terminal gives it: two for most of what is written in East Asia and for emoji.
    var columns: Int {
        unicodeScalars.contains { scalar in
            switch scalar.value {
            case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
                0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
                true
            default: false
            }
        } ? 2 : 1
    }
}
