package schemas_test

import (
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

func TestEncodeKeepsLiterals(t *testing.T) {
	t.Parallel()
	const raw = `{"n":[9007199254740993,1.0,1e2,-0,1e400,1E+2],"s":"\u00e9\/<b>é\ud83d\ude00"}`
	var message schemas.ReachMessage
	if err := schemas.Accept([]byte(`{"capability":"echo","payload":`+raw+`,"metadata":`+raw+`,"x":"\u00e9"}`), &message); err != nil {
		t.Fatal(err)
	}
	got := string(schemas.MustEncode(&message))
	want := `{"v":1,"capability":"echo","payload":` + raw + `,"metadata":` + raw + `,"x":"\u00e9"}`
	if got != want {
		t.Errorf("encoded\n got %s\nwant %s", got, want)
	}
}
