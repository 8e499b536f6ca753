package main

import (
	"reflect"
	"strings"
	"testing"
)

const change = `diff --git a/ship.go b/ship.go
index 83db48f..bf269f4 100644
--- a/ship.go
+++ b/ship.go
@@ -1,4 +1,5 @@ package ship
 package ship

-func Sail() {}
+func Sail() error { return nil }
+
 // end
@@ -40 +41,2 @@
+++ counter
+x := 1
-x := 0
\ No newline at end of file
diff --git a/gone.go b/gone.go
--- a/gone.go
+++ /dev/null
@@ -1,2 +0,0 @@
-package gone
-
--- "a/odd \"name\".txt"	2026-11-29 10:00:00
+++ "b/odd \"name\".txt"	2026-11-29 10:00:01
@@ -0,0 +1 @@
+hello
`

func TestParse(t *testing.T) {
	t.Parallel()
	want := []Hunk{
		{"ship.go", 1, []Line{{"ship.go", 3, "func Sail() error { return nil }"}, {"ship.go", 4, ""}}},
		{"ship.go", 41, []Line{{"ship.go", 41, "++ counter"}, {"ship.go", 42, "x := 1"}}},
		{"", 0, nil},
		{`odd "name".txt`, 1, []Line{{`odd "name".txt`, 1, "hello"}}},
	}
	if got := Parse(change); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestParseTakesAnything(t *testing.T) {
	t.Parallel()
	for _, diff := range []string{
		"", "hello", "@@", "@@ -1 +1 @@", "+++ ", "@@ -1,9 +1,9 @@\n", "@@ -99999999999999999999 +1 @@\n+x\n",
	} {
		for _, hunk := range Parse(diff) {
			if len(hunk.Added) > 1 {
				t.Errorf("%q: %+v", diff, hunk)
			}
		}
	}
}

func FuzzReview(f *testing.F) {
	f.Add(change)
	f.Add("@@ -1 +1,2 @@\n+\xff\n+\n")
	f.Fuzz(func(t *testing.T, diff string) {
		added := strings.Count(diff, "\n+") + 1
		if findings := Review(diff); findings == nil || len(findings) > (added+1)*(len(rules)+1) {
			t.Errorf("%d findings", len(findings))
		}
	})
}
