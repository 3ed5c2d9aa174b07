import Testing

@testable import Waypost

@Suite struct `Masking` {
    // Every `SECRET` must go, every `seen` must stay.
    @Test(
        arguments: [
            // Keys.
            ("a://b?password=SECRET&x=seen", "a://b?password=***&x=seen"),
            ("a://b?PassWord=SECRET", "a://b?PassWord=***"),
            ("a://b?token=SECRET#seen", "a://b?token=***#seen"),
            ("a://b?access_token=SECRET", "a://b?access_token=***"),
            ("a://b?access-token=SECRET", "a://b?access-token=***"),
            ("a://b?accessToken=SECRET", "a://b?accessToken=***"),
            ("a://b?client_secret=SECRET&secretary=seen", "a://b?client_secret=***&secretary=seen"),
            ("a://b?api_key=SECRET", "a://b?api_key=***"), ("a://b?apiKey=SECRET", "a://b?apiKey=***"),
            ("a://b?X-Api-Key=SECRET", "a://b?X-Api-Key=***"),
            ("a://b?session_id=SECRET", "a://b?session_id=***"),
            ("a://b?Session-ID=SECRET", "a://b?Session-ID=***"),
            ("a://b?user[password]=SECRET", "a://b?user[password]=***"),
            ("a://b?p%61ssword=SECRET", "a://b?p%61ssword=***"),
            ("a://b?password%3DSECRET", "a://b?password%3D***"),
            ("a://b?password=&x=seen", "a://b?password=&x=seen"),
            ("a://b?tokens=seen&monkey=seen", "a://b?tokens=seen&monkey=seen"),
            // Fragments.
            ("a://b#access_token=SECRET&state=seen", "a://b#access_token=***&state=seen"),
            // User info.
            ("https://me:SECRET@host/seen", "https://***@host/seen"),
            ("mqtts://SECRET@host:8883", "mqtts://***@host:8883"),
            ("https://a@SECRET@host/x@seen", "https://***@host/x@seen"),
            ("connecting to mqtt://me:SECRET@b: seen", "connecting to mqtt://***@b: seen"),
            ("https://host/seen@seen", "https://host/seen@seen"),
            ("https:\\\\me:SECRET@host/seen", "https:\\\\***@host/seen"),
            ("https:me:SECRET@host/seen", "https:***@host/seen"),
            ("https:/\\SECRET@host", "https:/\\***@host"), ("https:///SECRET@host", "https:///***@host"),
            ("mailto:seen@host", "mailto:seen@host"), ("token:/SECRET", "token:***"),
            // URLs in URLs.
            (
                "a://b?next=https%3A%2F%2Fc%3Ftoken%3DSECRET%26x%3Dseen",
                "a://b?next=https%3A%2F%2Fc%3Ftoken%3D***%26x%3Dseen"
            ),
            ("a://b?next=https%3A%2F%2Fme%3ASECRET%40c", "a://b?next=https%3A%2F%2F***%40c"),
            (
                "a://b?n=c%253A%252F%252Fd%253Ftoken%253DSECRET%2526x%253Dseen",
                "a://b?n=c%253A%252F%252Fd%253Ftoken%253D***%2526x%253Dseen"
            ),
            ("a://b?n=token%25253DSECRET", "a://b?n=token%25253D***"),
            ("a://b?next=https://c?token=SECRET&x=seen", "a://b?next=https://c?token=***&x=seen"),
            ("a://b?token=SEC%26RET&x=seen", "a://b?token=***&x=seen"),
            // Sentences, JSON, headers.
            (#"{"password":"SECRET","x":"seen"}"#, #"{"password":"***","x":"seen"}"#),
            (#"{"password": "SEC\"RET", "x":1}"#, #"{"password": "***", "x":1}"#),
            (#"{\"token\":\"SECRET\",\"x\":\"seen\"}"#, #"{\"token\":\"***\",\"x\":\"seen\"}"#),
            (#"token=\"SECRET"#, #"token=\"***"#),
            (#"token=\"SECRET" seen"#, #"token=\"***" seen"#),
            (#"token=\"SECRET\" seen"#, #"token=\"***\" seen"#),
            (#"Login(token: "SECRET", name: "seen")"#, #"Login(token: "***", name: "seen")"#),
            ("Authorization: Bearer SECRET\nseen", "Authorization: ***\nseen"),
            ("cookie: a=SECRET; b=SECRET", "cookie: ***"),
            ("authorization=Bearer SECRET seen", "authorization=*** seen"),
            ("cookie=SECRET x=seen", "cookie=*** x=seen"),
            ("password=SECRET seen", "password=*** seen"),
            ("no route matches token://seen/seen", "no route matches token://seen/seen"),
            ("nothing to see: seen", "nothing to see: seen"), ("", ""), ("=", "="), (":", ":"),
            ("://@", "://@"),
            ("token:", "token:"), ("token=\"", "token=\""),
        ])
    func `leaves of a text what may be seen`(_ text: String, _ expected: String) {
        let redaction = Redaction(further: ["session-id"])
        #expect(redaction.masked(text) == expected)
        #expect(redaction.masked(expected) == expected)
    }
}
