package mqttfront_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/desk"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/schemas"
)

// doors is the HTTPS side of a house, for phones that have more to say than a message carries.
func (h *house) doors() (url string) {
	h.t.Helper()
	d, err := desk.New(desk.Config{Conn: h.any().conn})
	check(h.t, err)
	handler, err := httpfront.New(httpfront.Config{Service: h.any(), Work: d})
	check(h.t, err)
	server := httptest.NewServer(handler)
	h.t.Cleanup(server.Close)
	return server.URL
}

// fetch gets what a reference stands for.
func fetch(t testing.TB, url string, sequence uint64) string {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, url, nil)
	check(t, err)
	request.Header.Set("Reach-Token", fmt.Sprint(sequence))
	response, err := http.DefaultClient.Do(request)
	check(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("GET %s: status %d, %.200s, %v", url, response.StatusCode, body, err)
	}
	return string(body)
}

// bring posts a result that no message carries.
func (p *phone) bring(url string, e *errand, result string) {
	body := fmt.Sprintf(`{"agent_id":%q,"instance_id":"app-1","result":%s}`, p.name, result)
	request, err := http.NewRequest(http.MethodPost, url+"/v1/tasks/"+e.TaskID+"/result", strings.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Reach-Token", fmt.Sprint(e.sequence))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = response.Body.Close() }()
	answer, _ := io.ReadAll(response.Body)
	taken := strings.Contains(string(answer), `"stored"`) || strings.Contains(string(answer), `"already_yours"`) // by a try that took long
	if response.StatusCode != http.StatusOK || !taken {
		p.t.Errorf("status %d, %s", response.StatusCode, answer)
	}
	p.mu.Lock()
	e.over = true
	p.mu.Unlock()
}

// A phone serves tasks whose payloads and results are of any size, and another is told of their ends: what a message carries comes in it,
// the rest is fetched and brought by HTTPS.
func TestBodiesThatNoMessageCarriesGoByHTTPS(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	url := h.doors()
	const carried = 900_000 // as long as a message may be, with something to spare
	server := newPhone(h, "server", func(p *phone) {
		p.run = func(p *phone, e *errand) {
			var m schemas.ReachMessage
			if err := schemas.Decode(e.Message, &m); err != nil {
				p.t.Error(err)
			}
			result := string(m.Payload)
			if m.PayloadRef != nil {
				result = fetch(p.t, url+"/v1/tasks/"+e.TaskID+"/payload?agent_id=server&instance_id=app-1", e.sequence)
			}
			if strings.HasPrefix(result, `{"bytes"`) {
				var wanted struct {
					Bytes int `json:"bytes"`
				}
				_ = schemas.Decode([]byte(result), &wanted)
				result = `"` + strings.Repeat("r", wanted.Bytes-2) + `"`
			}
			if len(result) > carried {
				p.bring(url, e, result)
				return
			}
			p.finish(e, result)
		}
	})
	server.register(strings.Replace(serves, "{", `{"large_bodies":true,`, 1))
	caller := newPhone(h, "caller")
	for _, bytes := range []int{32 << 10, 32<<10 + 1, carried, carried + 1, 3_000_000} {
		name := fmt.Sprint(bytes)
		caller.submit(name, fmt.Sprintf(`{"capability":"echo","payload":{"bytes":%d}}`, bytes))
		end := caller.end(name)
		got := string(end.Result)
		if apart := end.ResultRef != nil; apart != (bytes > 1<<20-64<<10) {
			t.Errorf("%d bytes: told with a reference: %v", bytes, apart)
		} else if apart {
			got = fetch(t, url+"/v1/tasks/"+end.TaskID+"/result", 0)
		}
		if end.State != schemas.StateCompleted || len(got) != bytes {
			t.Errorf("%d bytes: %s, %d bytes, %v", bytes, end.State, len(got), end.Error)
		}
	}
	payload := `"` + strings.Repeat("p", 3_000_000) + `"`
	task := h.submit(schemas.ReachMessage{Capability: "echo", Payload: schemas.Payload(payload)})
	if ended := h.wait(task.TaskID); ended.State != schemas.StateCompleted || ended.ResultRef == nil || ended.ResultRef.Bytes != int64(len(payload)) {
		t.Errorf("a payload of %d bytes: %s, %+v, %v", len(payload), ended.State, ended.ResultRef, ended.Error)
	}
	if n := server.ran(task.TaskID); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}
