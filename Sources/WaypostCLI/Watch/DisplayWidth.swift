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
