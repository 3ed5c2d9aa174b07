extension StringProtocol {
    /// The text with another one in the place of some characters.
    ///
    /// Of a format, a mark such as a quote is one scalar, also where what follows combines with it into one
    /// `Character`, which is no longer equal to it.
    ///
    /// - Parameter escape: What stands in the place of a scalar; nil for one that stays.
    package func escaping(_ escape: (Unicode.Scalar) -> String?) -> String {
        var text = ""
        for scalar in unicodeScalars {
            if let other = escape(scalar) { text += other } else { text.unicodeScalars.append(scalar) }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether something takes it for the end of a line.
    package var endsLine: Bool { (0xA...0xD).contains(value) || [0x85, 0x2028, 0x2029].contains(value) }
}
