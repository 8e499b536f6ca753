package redact_test

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas/redact"
)

func TestMask(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"an identity number", "id 11010519491231002X.", "id ***."},
		{"an identity number with a small x", "11010519491231002x", "***"},
		{"an identity number of digits alone", "身份证440524188001010014号", "身份证440524188001010014号"},
		{"an identity number beside Chinese text", "身份证110101199003074477号", "身份证***号"},
		{"an identity number in groups", "110101 19900307 4477", "***"},
		{"an identity number in groups with an X", "110105-19491231-002X", "***"},
		{"an old identity number", "id=130503670401001", "id=***"},
		{"an identity number after letters", "ID110101199003074477", "ID***"},

		{"a mobile number", "call 13800138000 now", "call *** now"},
		{"a mobile number at the end of a sentence", "Call 13800138000.", "Call ***."},
		{"a mobile number in groups", "138-0013-8000 or 138 0013 8000", "*** or ***"},
		{"a mobile number with its country code", "8613800138000, 008613800138000", "***, ***"},
		{"a mobile number after a word", "tel13800138000", "tel***"},
		{"a mobile number beside Chinese text", "手机13800138000元", "手机***元"},
		{"two mobile numbers side by side", "13800138000 13900139000", "*** ***"},
		{"a number before a mobile number", "attempt 3 13800138000 5", "attempt 3 *** 5"},
		{"a mobile number after an escaped line break", `text\n13800138000`, `text\n***`},
		{"a landline", "010-65529988, 0755-12345678", "***, ***"},
		{"a landline in brackets", "(010) 6552 9988 and (010)65529988", "*** and ***"},
		{"an international number", "+49 30 901820 and +14155552671", "*** and ***"},
		{"an international number with brackets", "+1 (415) 555-2671", "***"},
		{"an international number in a URL", "?tel=%2B8613800138000&x=1", "?tel=***&x=1"},

		{"an e-mail address", "mail <jo.doe+x@mail.example.org>!", "mail <***>!"},
		{"an e-mail address at the end of a sentence", "mail jo@example.org.", "mail ***."},
		{"an e-mail address with a number", "123456789@qq.com", "***"},
		{"an e-mail address in a URL", "?to=jo%40example.org&x=1", "?to=***&x=1"},
		{"a mobile number as an e-mail address", "13800138000@139.com", "***@139.com"},

		{"a card number", "card 4111111111111111", "card ***"},
		{"a card number in groups", "4111 1111 1111 1111, 4111-1111-1111-1111", "***, ***"},
		{"an American Express card", "378282246310005 3782 822463 10005", "*** ***"},
		{"a UnionPay card of 19 digits", "6222020000000000000", "***"},

		{"a bearer token", "sent Bearer abc.def-123_x to it", "sent Bearer *** to it"},
		{"basic credentials", "Basic dXNlcjpwYXNz", "Basic ***"},
		{"an authorization header", "Authorization: Bearer abc, def\nHost: x", "Authorization: ***\nHost: x"},
		{"a cookie header", "Cookie: a=b; c=d", "Cookie: ***"},
		{"a header as Go prints it", "map[Authorization:[Bearer abc] Host:[x]]", "map[Authorization:[***] Host:[x]]"},
		{"a query parameter", "GET /x?token=abc&y=1 HTTP", "GET /x?token=***&y=1 HTTP"},
		{"a key in a query", "/x?key=AbC&v=1", "/x?key=***&v=1"},
		{"a password in logfmt", `user=x password=hunter2, next=1`, `user=x password=*** next=1`},
		{"a quoted password", `password: "a b\" c" rest`, `password: "***" rest`},
		{
			"a password in JSON within text", `got {"client_secret": "a b", "n": 1} back`,
			`got {"client_secret": "***", "n": 1} back`,
		},
		{"a password in escaped JSON within text", `body "{\"apiKey\":\"a b\",\"n\":1}"`, `body "{\"apiKey\":\"***\",\"n\":1}"`},
		{"a number as a token in JSON within text", `x {"token":4711,"n":1}`, `x {"token":***,"n":1}`},
		{"an environment variable", "REACH_PSK=abc reach up", "REACH_PSK=*** reach up"},
		{"a flag", "reach --token abc --wait", "reach --token *** --wait"},
		{"a flag with an equals sign", "--password=abc", "--password=***"},
		{"an encoded parameter", "next=%2Fx%3Ftoken%3Dabc", "next=%2Fx%3Ftoken%3D***"},
		{"a name in camel case", "accessToken: abc", "accessToken: ***"},
		{"a password in a URL", "nats://user:p@ss@host:4222/x", "nats://***@host:4222/x"},
		{"a token in a URL", "nats://s3cr3t@127.0.0.1:4222", "nats://***@127.0.0.1:4222"},
		{"a JSON Web Token", "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln!", "got ***!"},
		{"an API key that says what it is", "sk-proj-0123456789abcdefgh", "***"},
		{"an nkey seed", "SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4", "***"},
		{"a private key", "-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\nrest", "***\nrest"},
		{"a private key that is cut off", "x -----BEGIN PRIVATE KEY-----\nabc", "x ***"},
		{"a colour before a name", "\x1b[36mtoken=\x1b[0mabc", "\x1b[36mtoken=***"},
		{"a colour before a number", "\x1b[36m13800138000\x1b[0m", "\x1b[36m***\x1b[0m"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := redact.Mask(tt.text)
			if got != tt.want {
				t.Errorf("Mask(%q)\n got %q\nwant %q", tt.text, got, tt.want)
			}
			if again := redact.Mask(got); again != got {
				t.Errorf("masked again: %q", again)
			}
		})
	}
}

func TestMaskLeavesAlone(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text string }{
		{"a task id", "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"},
		{"a task id of digits alone", "01922613-4900-7123-9154-138001380001"},
		{"a trace id with digits that look like a mobile number", "4bf92f13800138000ab34da6a3ce929d"},
		{"a traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		{"an idempotency key", "Idempotency-Key: 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"},
		{"a fencing token", "Reach-Token: 4711"},
		{"a time", "2026-11-29T10:00:00.000Z and 2026-11-29T10:00:00+08:00 and 20261129100000"},
		{
			"Unix times in seconds, milliseconds, microseconds and nanoseconds",
			"1764410400 1764410400000 1764410400000000 1764410400000000000",
		},
		{"the number after the largest that a double holds exactly", "9007199254740993"},
		{"the largest integers", "9223372036854775807 18446744073709551615"},
		{"decimals", "1.13800138000 13800138000.5 0.1 -0 1e2 1e400 3.141592653589793"},
		{"small numbers", "0 1 42 4711 65536 134217728"},
		{"an address with a port", "nats://127.0.0.1:4222 http://[::1]:8500/v1/tasks"},
		{"IP addresses", "192.168.100.200 10.0.0.1:8500 2001:db8::8a2e:370:7334"},
		{"a version", "v1.55.0 go@1.26.8 name@1.2.3"},
		{"a subject", "reach.task.01a226bf-4900-7b1e-9d54-0f6a3f1f8a10.assigned.summarize.laptop-1"},
		{"an identity number with a wrong check digit", "110101199003074478"},
		{"an identity number with an impossible date", "110101199013074477"},
		{"a card number with a wrong check digit", "4111111111111112"},
		{"a number with too many digits", "138001380001380013800138"},
		{"a number of counted tokens", "max_tokens: 500, prompt_tokens=12"},
		{"words about secrets", "the token is missing; no password was given; Bearer of news; basic authentication"},
		{"a file with a secret", "psk_file: psk.txt, --creds-file agent.creds"},
		{"an absent secret", `token=null password="" secret: false`},
		{"a handle", "@jo and user@localhost"},
		{"arithmetic", "1+2=3 (12) +5 a+b"},
		{"a base32 key", "mzxw6ytboi3dcmrtgq2tmnzyheydcmrt"},
		{"what is masked", "token=*** nats://***@host ***"},
		{"nothing", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := redact.Mask(tt.text); got != tt.text {
				t.Errorf("Mask(%q) = %q", tt.text, got)
			}
		})
	}
}

func TestMaskKeepsJSON(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"strings", `{"a": "call 13800138000", "b":["x@y.org"]}`, `{"a": "call ***", "b":["***"]}`},
		{"escaped digits", `{"a":"\u0031\u00338\u00300138000"}`, `{"a":"***"}`},
		{"an escaped line break before a number", `{"a":"x\n13800138000"}`, `{"a":"x\n***"}`},
		{"numbers that are personal", `{"phone":13800138000,"n":[110101199003074477,1]}`, `{"phone":"***","n":["***",1]}`},
		{
			"numbers that are not", `[9007199254740993,1.0,1e2,-0,18446744073709551615,0.1]`,
			`[9007199254740993,1.0,1e2,-0,18446744073709551615,0.1]`,
		},
		{
			"members with secrets of any type", `{"token":4711,"auth":{"password":{"a":[1,"}"]}},"psk":null}`,
			`{"token":"***","auth":{"password":"***"},"psk":null}`,
		},
		{"names that are personal", `{"x@y.org":1}`, `{"***":1}`},
		{"JSON within a string", `{"body":"{\"phone\":13800138000}"}`, `{"body":"{\"phone\":\"***\"}"}`},
		{"a whole string", `"13800138000"`, `"***"`},
		{"other escapes stay as they are", `{"a":"\u00e9\/<b>"}`, `{"a":"\u00e9\/<b>"}`},
		{"markup is not escaped", `{"a":"<b>13800138000"}`, `{"a":"<b>***"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := redact.Mask([]byte(tt.text)); got != tt.want {
				t.Errorf("Mask(%s)\n got %s\nwant %s", tt.text, got, tt.want)
			}
		})
	}
}

func TestMaskTakesLinearTime(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{
		"a", "1", "@", "a@", "a@b.", "://", "1-", "138 ", "+1 ", "(0", "token", "token=", "a-", "%40", "-----BEGIN ", `\`, `"`, `password:"`,
		`password:\\"`, "Bearer ", "eyJ", "x@y.org ", "13800138000 ", "[", `{"a":`, "\x1b[", "a.", "0.", "http://a:",
	} {
		text := strings.Repeat(piece, 300_000/len(piece))
		if got := redact.Mask(text); len(got) > 4*len(text) {
			t.Errorf("%q: %d bytes became %d", piece, len(text), len(got))
		}
	}
}
