package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

const formTask = "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"

func TestChunksAreWrittenAsAnEncoderWrites(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`"Ships "`, `1.0`, `null`, `{"a":[1,"}"]}`, `"\u00e9\/<b>é"`} {
		want := schemas.Chunk{V: schemas.CurrentVersion, TaskID: formTask, Attempt: 3, N: 9007199254740991, Data: schemas.Payload(data)}
		body := chunkFormOf(formTask).write(want.Attempt, want.N, want.Data)
		if diff := cmp.Diff(string(schemas.MustEncode(&want)), string(body)); diff != "" {
			t.Error(diff)
		}
		got := chunkFormOf(formTask).read(body)
		if got == nil || got.TaskID != want.TaskID || got.Attempt != want.Attempt || got.N != want.N || string(got.Data) != data {
			t.Errorf("%s is read as %+v", body, got)
		}
	}
}

func TestWhatIsInAnotherFormIsLeftToADecoder(t *testing.T) {
	t.Parallel()
	head := `{"v":1,"task_id":"` + formTask + `","attempt":`
	for _, body := range []string{
		``, `{}`, head, head + `1,"n":1,"data":`, head + `1,"n":1,"data":}`, head + `1,"n":1,"data":1,"more":2}`, head + `1,"n":1,"data":"a}`,
		head + `1.5,"n":1,"data":1}`, head + `1,"n":01,"data":1}`, head + `1,"n":+1,"data":1}`, head + `,"n":1,"data":1}`,
		head + `99999999999999999999,"n":1,"data":1}`, head + "1,\"n\":1,\"data\":\"\xff\"}", head + `1,"n":1,"data":1e9999}`,
		head + `1,"n":1,"data":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`,
		`{"v":1,"task_id":"01a226bf-4900-7b1e-9d54-0f6a3f1f8a11","attempt":1,"n":1,"data":1}`,
	} {
		if got := chunkFormOf(formTask).read([]byte(body)); got != nil {
			t.Errorf("%s is read as %+v", body, got)
		}
	}
}

// What is read without a decoder is what the decoder reads.
func FuzzChunkForm(f *testing.F) {
	f.Add(`1,"n":1,"data":"x"}`)
	f.Add(`1,"n":1,"data":1,"data":2}`)
	f.Fuzz(func(t *testing.T, rest string) {
		body := []byte(fmt.Sprintf(`{"v":1,"task_id":"%s","attempt":%s`, formTask, rest))
		quick := chunkFormOf(formTask).read(body)
		if quick == nil {
			return
		}
		slow := new(schemas.Chunk)
		if err := schemas.Accept(body, slow); err != nil || slow.N != quick.N || slow.Attempt != quick.Attempt ||
			strings.TrimSpace(string(slow.Data)) != strings.TrimSpace(string(quick.Data)) {
			t.Errorf("%s: %+v, but %+v (%v)", body, quick, slow, err)
		}
	})
}
