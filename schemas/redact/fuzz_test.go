package redact_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/schemas/redact"
)

func FuzzMask(f *testing.F) {
	for _, seed := range []string{
		"", "call 13800138000 or +86 138-0013-8000", "11010519491231002X", "x@y.com13800138000", "token=abc password: \"d\\\" e\"",
		`{"a":{"token":[1,{"b":"}"}]},"c":13800138000}`, `{\"password\":\"x\"}`, "nats://u:p@h:1/", "Authorization: Bearer x\ny", "4111 1111 1111 1111",
		"-----BEGIN PRIVATE KEY-----\n", "%40%2B8613800138000", "\x1b[1mkey=\x1b[0mx", "***@***", "a@b.cc@d.ee", "--token  x", "Basic dXNlcjpwYXNz",
		"(010)6552 9988", `["\u0031"]`, "eyJaaaaaaaaaaaaaaaaaaaaaaaaa.b.c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		masked := redact.Mask(text)
		if again := redact.Mask(masked); again != masked {
			t.Errorf("not stable:\n text %q\n once %q\ntwice %q", text, masked, again)
		}
		if utf8.ValidString(text) && !utf8.ValidString(masked) {
			t.Errorf("no longer UTF-8: %q", masked)
		}
		if composite(text) && json.Valid([]byte(text)) && !json.Valid([]byte(masked)) {
			t.Errorf("no longer JSON: %q became %q", text, masked)
		}
	})
}

func composite(text string) bool {
	return strings.ContainsAny(text, `{["`) && !strings.HasPrefix(text, "-")
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("Error: \x1b[31mpassword=abc\x1b[0m\n\tat x\u202e"), 20)
	f.Add([]byte("\xff\xfe{\"a\":13800138000}"), 512)
	f.Fuzz(func(t *testing.T, raw []byte, limit int) {
		limit = max(1, limit%2000)
		got := redact.Excerpt(raw, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("Excerpt(%q, %d) = %q", raw, limit, got)
		}
	})
}

func FuzzFingerprint(f *testing.F) {
	f.Add([]byte(`{"a":[1,"]"],"b":{"c":null}}`))
	f.Add([]byte(`[1,"a",{`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := redact.Fingerprint(raw)
		if len(got) > 200 {
			t.Errorf("%d bytes: %s", len(got), got)
		}
	})
}

// secrets are markers by the kind of thing that must not be seen.
var secrets = []string{
	"13800138000", "110101199003074477", "11010519491231002X", "130503670401001", "jo.doe@example.org", "+8613912345678", "4111111111111111",
}

func TestNoSecretIsSeenWhateverIsAroundIt(t *testing.T) {
	t.Parallel()
	around := rapid.StringOfN(rapid.RuneFrom([]rune(" ,;:=\"'<>(){}[]|/\\\n*?!&#_.机é")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SampledFrom(secrets).Draw(t, "secret")
		text := around.Draw(t, "before") + secret + around.Draw(t, "after")
		for _, form := range []string{text, asJSON(text), asJSON(map[string]any{"a": []string{text}}), "log " + asJSON(text)} {
			if masked := redact.Mask(form); strings.Contains(masked, secret) {
				t.Fatalf("%q became %q", form, masked)
			}
		}
	})
}

func TestNoNamedSecretIsSeen(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{"password", "client_secret", "X-Api-Key", "accessToken", "REACH_PSK", "Authorization", "Set-Cookie"})
	value := rapid.StringMatching(`[a-z0-9_+/~-]{6,24}`)
	rapid.Check(t, func(t *rapid.T) {
		name, secret := names.Draw(t, "name"), value.Draw(t, "secret")
		asMember := asJSON(map[string]any{"n": 1, name: secret, "z": secret[:1]})
		for _, form := range []string{
			name + "=" + secret, name + ": " + secret, "x " + name + " = " + secret + " y", asMember, "body " + asMember, "body " + asJSON(asMember),
			asJSON(asMember), "https://h/x?a=1&" + name + "=" + secret + "&b=2", "map[" + name + ":[" + secret + "]]", "'" + name + "': '" + secret + "'",
		} {
			if masked := redact.Mask(form); strings.Contains(masked, secret) {
				t.Fatalf("%q became %q", form, masked)
			}
		}
	})
}

// pieces are what matters to the scanner; put together they make what no person would write.
var pieces = append([]string{
	"a", "x", "e", "7", "86", "+", "-", "--", "_", ".", "@", "%", "%40", "%2B", ":", "://", "=", " ", "\"", "'", "\\", "\\n", "\\u0031", "[", "]", "{", "}",
	"(", ")", "010", "***", "\n", "\x1b[3m", "token", "password", "Authorization", "Bearer ", "Basic ", "eyJ", "null", "sk-", "example.org", "138", "0013",
	"8000", "-----BEGIN PRIVATE KEY-----", "-----END ", "é", "机", ",", "&", "?",
}, secrets...)

func TestMaskIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		for _, form := range []string{text, asJSON(text), asJSON([]any{text, map[string]any{text: text}}), "x " + asJSON(text)} {
			masked := redact.Mask(form)
			if again := redact.Mask(masked); again != masked {
				t.Fatalf("not stable:\n text %q\n once %q\ntwice %q", form, masked, again)
			}
			if json.Valid([]byte(form)) && composite(form) && !json.Valid([]byte(masked)) {
				t.Fatalf("no longer JSON: %q became %q", form, masked)
			}
		}
	})
}

func asJSON(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
