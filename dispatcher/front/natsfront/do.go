package natsfront

import (
	"cmp"
	"context"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// teller is a service that sends the end of a task to one subject more, once, unless it dies before. forget takes that back.
type teller interface {
	Tell(taskID, subject string) (forget func())
}

// doing is the endpoint task.do: a submit whose caller hears the end of its task beside the answer, and so need not hear those of others.
func (a *api) doing(t teller) func(context.Context, *broker.Request) (any, error) {
	return func(ctx context.Context, request *broker.Request) (any, error) {
		message, err := messageOf(request)
		if err != nil {
			return nil, err
		}
		message.TaskID = cmp.Or(message.TaskID, schemas.NewTaskID())
		forget := t.Tell(message.TaskID, request.Beside(broker.WordResults))
		task, err := a.service.Submit(ctx, a.tenant(), message)
		if err != nil || task.State.Terminal() || task.TaskID != message.TaskID {
			forget()
		}
		if err != nil {
			return nil, err
		}
		return task, nil
	}
}
