//go:build unix

package integration

import (
	"context"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// phoneCaller is a customer's device on MQTT. It orders, and hears of the end of what it has ordered.
type phoneCaller struct {
	*device
	history *history

	waiting  map[string][]chan any // for the answer to a submit, by msg_id: a task or an error; under the device's lock
	accepted map[string]bool       // tasks, and whether their end was heard
}

func newPhoneCaller(t testing.TB, addresses []string, heard *history) *phoneCaller {
	t.Helper()
	p := &phoneCaller{history: heard, waiting: make(map[string][]chan any), accepted: make(map[string]bool)}
	p.device = newDevice("customer", addresses, p.heard, func() any { return schemas.DeviceBeat{} })
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(sayAgain)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				p.repeat()
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-ended
		p.client.Disconnect(100)
	})
	return p
}

// submit says an order until it is answered.
func (p *phoneCaller) submit(ctx context.Context, message []byte) (*schemas.Task, error) {
	m := new(schemas.ReachMessage)
	if err := schemas.Decode(message, m); err != nil {
		return nil, err
	}
	answer := make(chan any, 1)
	p.mu.Lock()
	p.waiting[m.MsgID] = append(p.waiting[m.MsgID], answer)
	p.mu.Unlock()
	p.say("submit "+m.MsgID, "submit", schemas.Payload(message))
	select {
	case said := <-answer:
		if task, isTask := said.(*schemas.Task); isTask {
			return task, nil
		}
		return nil, said.(*schemas.Error)
	case <-ctx.Done():
		p.answer(m.MsgID, schemas.NewError(schemas.Unavailable, "", "no answer came"))
		return nil, ctx.Err()
	}
}

// answer ends the wait of all who have submitted under a key.
func (p *phoneCaller) answer(msgID string, said any) {
	p.answered("submit " + msgID)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.waiting[msgID] {
		one <- said
	}
	delete(p.waiting, msgID)
}

func (p *phoneCaller) heard(kind string, body []byte) {
	switch kind {
	case "accepted", "result":
		task := new(schemas.Task)
		if err := schemas.Decode(body, task); err != nil {
			p.history.t.Errorf("in/%s is not readable: %s", kind, body)
			return
		}
		p.note(kind, task)
	case "error":
		refused := new(schemas.DeviceAnswer)
		if schemas.Decode(body, refused) == nil && refused.About == "submit" {
			p.answer(refused.MsgID, refused.Error)
		}
	}
}

func (p *phoneCaller) note(kind string, task *schemas.Task) {
	p.mu.Lock()
	p.accepted[task.TaskID] = p.accepted[task.TaskID] || kind == "result"
	p.mu.Unlock()
	p.history.note("the phone", time.Time{}, task) // when it was asked nobody knows: an answer may be one of many to the same
	if kind == "accepted" {
		p.answer(task.MsgID, task)
		return
	}
	p.publish("ack", schemas.TaskRef{TaskID: task.TaskID})
}

// hasHeardOf reports whether the phone was told the end of a task.
func (p *phoneCaller) hasHeardOf(taskID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted[taskID]
}

// hasHeard waits until the phone was told the end of all that was accepted from it.
func (p *phoneCaller) hasHeard(t testing.TB) (count int) {
	t.Helper()
	var missing string
	brokertest.Eventually(t, "the phone hears of every end", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		missing, count = "", len(p.accepted)
		for id, ended := range p.accepted {
			if !ended {
				missing = id
			}
		}
		return missing == ""
	})
	return count
}
