package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	t.Parallel()
	const (
		isSecret   = "this looks like a secret: keep it out of the code"
		isConflict = "a merge conflict is not resolved"
		isIgnored  = "an error or a result is thrown away"
		isCaught   = "an exception is caught and forgotten"
		isDebug    = "a print for debugging is left in"
		isToDo     = "something is left to do here"
		isLong     = "the line is longer than 140 characters"
		isBlank    = "there is white space at the end of the line"
	)
	for _, tt := range []struct {
		file, text, want string
	}{
		{"a.go", `password := "correct horse battery"`, isSecret},
		{"a.yaml", `api_key: 'abcdef0123456789'`, isSecret},
		{"a.json", `"client_secret": "abcdef0123456789",`, isSecret},
		{"a.go", `key := "AKIA` + strings.Repeat("A", 16) + `"`, isSecret},
		{"a.pem", `-----BEGIN RSA PRIVATE KEY-----`, isSecret},
		{"a.go", `dsn := "postgres://me:hunter2@db/app"`, isSecret},
		{"a.go", `password := os.Getenv("PASSWORD")`, ""},
		{"a.yaml", `password: "${DB_PASSWORD}"`, ""},
		{"a.yaml", `token: "your-token-here"`, ""},
		{"a.go", `dsn := "postgres://db/app"`, ""},

		{"a.go", `<<<<<<< HEAD`, isConflict},
		{"a.md", `======= a title`, ""},

		{"a.go", `	_ = f.Close()`, isIgnored},
		{"a.go", `	_, _ = io.Copy(w, r)`, isIgnored},
		{"", `_ = f.Close()`, isIgnored},
		{"a.go", `	n, _ := w.Write(b)`, ""},
		{"a.go", `	var _ Handler = (*Agent)(nil)`, ""},
		{"a.py", `_ = f.close()`, ""},

		{"a.py", `except ValueError: pass`, isCaught},
		{"a.ts", `try { x() } catch (e) {}`, isCaught},
		{"a.ts", `try { x() } catch (e) { report(e) }`, ""},

		{"a.go", `	fmt.Println("here", x)`, isDebug},
		{"a.go", `	fmt.Fprintln(w, x)`, ""},
		{"a.py", `    print(x)`, isDebug},
		{"a.py", `    sprint(x)`, ""},
		{"a.TSX", `  console.log(x)`, isDebug},
		{"a.rs", `    dbg!(x);`, isDebug},
		{"a.md", `print(x)`, ""},

		{"a.go", `// TODO: the rest`, isToDo},
		{"a.go", `// a todo list`, ""},

		{"a.md", strings.Repeat("é", 141), isLong},
		{"a.md", strings.Repeat("é", 140), ""},

		{"a.md", "text ", isBlank},
		{"a.md", "\t", isBlank},
		{"a.md", "text\r", ""},
		{"a.md", "", ""},
	} {
		var want []Finding
		for _, r := range rules {
			if r.message == tt.want {
				want = []Finding{{r.severity, r.message, tt.file, 7}}
			}
		}
		if got := check(Line{tt.file, 7, tt.text}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q: got %+v, want %+v", tt.file, tt.text, got, want)
		}
	}
}

func TestReview(t *testing.T) {
	t.Parallel()
	diff := "+++ b/a.go\n@@ -0,0 +1,2 @@\n+// TODO \n+ok\n+++ b/big.txt\n@@ -0,0 +10,201 @@\n" + strings.Repeat("+x\n", 201)
	want := []Finding{
		{info, "something is left to do here", "a.go", 1},
		{info, "there is white space at the end of the line", "a.go", 1},
		{warning, "201 lines are added in one piece: smaller changes are easier to review", "big.txt", 10},
	}
	if got := Review(diff); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, input, want string
		fails             bool
	}{
		{
			"findings", fmt.Sprintf(`{"diff":%q,"focus":"all"}`, "+++ b/a.go\n@@ -0,0 +1 @@\n+\t_ = f()\n"),
			`{"findings":[{"severity":"warning","message":"an error or a result is thrown away","file":"a.go","line":1}]}`, false,
		},
		{"no findings", `{"diff":"nothing"}` + "\n", `{"findings":[]}`, false},
		{"no diff", `{}`, `{"error":{"code":"INVALID_ARGUMENT","message":"the input is not an object with a diff"}}`, true},
		{"no JSON", `diff`, `{"error":{"code":"INVALID_ARGUMENT","message":"the input is not an object with a diff"}}`, true},
	} {
		var out strings.Builder
		err := run(strings.NewReader(tt.input), &out)
		if out.String() != tt.want+"\n" || (err != nil) != tt.fails {
			t.Errorf("%s: got %s, %v", tt.name, out.String(), err)
		}
	}
}
