package subprocess_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/worker/adapter/subprocess"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command string
		want          []string
	}{
		{"one word", `agent`, []string{"agent"}},
		{"blanks of all kinds", "  ./agent\t-v \n x ", []string{"./agent", "-v", "x"}},
		{"quotes keep blanks", `agent 'a b' "c d"`, []string{"agent", "a b", "c d"}},
		{"quotes within a word", `agent --name='a b'c`, []string{"agent", "--name=a bc"}},
		{"an empty word", `agent ''`, []string{"agent", ""}},
		{"backslashes", `agent a\ b "\"" '\'`, []string{"agent", "a b", `"`, `\`}},
		{"nothing is expanded", `agent $HOME *.go ~ $(x) a|b >f ; c & d`, []string{
			"agent", "$HOME", "*.go", "~", "$(x)", "a|b", ">f", ";", "c", "&", "d",
		}},
		{"an open quote", `agent 'a b`, nil},
		{"another open quote", `agent "a b`, nil},
		{"an open backslash", `agent \`, nil},
		{"nothing", ``, nil},
		{"blanks alone", "  \t ", nil},
		{"an empty program", `'' a`, nil},
	} {
		got, err := subprocess.Split(tt.command)
		if (err != nil) != (tt.want == nil) || !cmp.Equal(got, tt.want) {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func ExampleSplit() {
	words, err := subprocess.Split(`python3 -m summarizer --title "Ship's log"`)
	fmt.Printf("%q %v\n", words, err)
	// Output: ["python3" "-m" "summarizer" "--title" "Ship's log"] <nil>
}
