package dispatcher

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/schedule"
	"github.com/agentreach/agent-reach/dispatcher/timetable"
	"github.com/agentreach/agent-reach/schemas"
)

// watchSchedules follows every change of the schedules.
func (d *Dispatcher) watchSchedules(ctx context.Context) error {
	ready, err := d.conn.Schedules().Watch(ctx, d.schedules.Hear)
	if err != nil {
		return fmt.Errorf("watch the schedules: %w", err)
	}
	return waitReady(ctx, ready)
}

const (
	scheduleRetry = time.Second // between two tries to submit an occurrence
	scheduleTries = 3           // to change a schedule that others change as well
)

// scheduleLoop submits what recurs. There is no leader: whoever is to submit an occurrence knows the one task_id that it can have, and
// the ledger creates it once.
func (d *Dispatcher) scheduleLoop(ctx context.Context) error {
	return d.every(ctx, d.cfg.Tick, func() {
		if !d.isCurrent() {
			return
		}
		for _, key := range d.dueSchedules() {
			d.inBackground(func(ctx context.Context) {
				defer d.schedules.Release(key)
				if err := d.fire(ctx, key); err != nil {
					d.log.Warn().Err(err).Str("schedule", key).Msg("a schedule could not be looked after; it is tried again")
				}
			})
		}
	})
}

func (d *Dispatcher) dueSchedules() []string {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.schedules.GrabDue(d.now(), patience, d.owns)
}

// fire submits the occurrences that are due, and writes when the next one is. Of what another dispatcher has done meanwhile nothing is
// done again: the record is read from the leader, an occurrence that exists stays as it is, and the record is changed only as it was.
func (d *Dispatcher) fire(ctx context.Context, key string) error {
	item, err := d.conn.Schedules().Get(ctx, key)
	if errors.Is(err, broker.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	record, now := item.Value, d.now()
	if record.NextAt.IsZero() || record.NextAt.After(now) {
		d.schedules.Learn(item)
		return nil
	}
	times, problem := schedule.Parse(record.Cron, record.TimeZone)
	if problem != nil { // a zone that this machine does not know, say; another's may
		return problem
	}
	run := times.Due(record.NextAt.Time, now, record.Missed, d.cfg.ScheduleGrace)
	if done := d.occur(ctx, key, &record, run.At); !done {
		return nil
	}
	record.NextAt = schemas.At(run.Next)
	if !run.Missed.IsZero() {
		record.LastMissedAt = schemas.At(run.Missed)
	}
	revision, err := d.conn.Schedules().Update(ctx, key, record, item.Revision)
	if errors.Is(err, broker.ErrConflict) { // another has done the same, or a caller has changed it
		return d.noteLast(ctx, &record)
	}
	if err == nil {
		item.Value, item.Revision = record, revision
		d.schedules.Learn(item)
	}
	return err
}

var errNothingToNote = errors.New("the schedule names this occurrence or a later one, or is another")

// noteLast tells in a schedule that was changed while its occurrences were submitted which one was the last: also a schedule that
// was paused just then names it.
func (d *Dispatcher) noteLast(ctx context.Context, done *broker.ScheduleRecord) error {
	_, err := d.changeSchedule(ctx, done.Tenant, done.Name, func(r *broker.ScheduleRecord) error {
		if r.ID != done.ID || !done.LastAt.After(r.LastAt.Time) {
			return errNothingToNote
		}
		r.LastAt, r.LastTaskID = done.LastAt, done.LastTaskID
		return nil
	})
	if e := schemas.AsError(err); errors.Is(err, errNothingToNote) || e != nil && e.Code == schemas.NotFound {
		return nil
	}
	return err
}

// occur submits occurrences, in order, and notes in the record how that went. It reports false where one is to be tried again.
func (d *Dispatcher) occur(ctx context.Context, key string, record *broker.ScheduleRecord, times []time.Time) (done bool) {
	for _, at := range times {
		task, err := d.submitOccurrence(ctx, record, at)
		e := schemas.AsError(err)
		if e != nil && e.Retryable && d.schedules.Again(key, d.clock(), scheduleRetry, d.cfg.ScheduleGrace) {
			return false
		}
		before := record.LastError
		record.LastError = e
		if e != nil {
			level := refusalLevel(before, e)
			d.log.WithLevel(level).Err(e).Str("schedule", key).Stringer("due", schemas.At(at)).Msg("an occurrence was refused")
			continue
		}
		record.LastAt, record.LastTaskID = schemas.At(at), task.TaskID
	}
	return true
}

// refusalLevel lets the log have a refusal when it is news: a schedule may be refused for the same reason every second, and says so itself.
func refusalLevel(before, now *schemas.Error) zerolog.Level {
	if before != nil && before.Code == now.Code && before.Reason == now.Reason {
		return zerolog.DebugLevel
	}
	return zerolog.WarnLevel
}

// submitOccurrence submits the task of one due time, or gives the one that is there. Nobody waits for an answer: where no agent is
// online, the task waits for one until it expires.
func (d *Dispatcher) submitOccurrence(ctx context.Context, record *broker.ScheduleRecord, at time.Time) (*schemas.Task, error) {
	message := record.Message
	message.MsgID = record.ID // its record is kept as long as one with a key: whoever is slow to submit it must find it
	if record.ExpiresAfterMS > 0 {
		message.ExpiresAt = schemas.At(latest(at, d.now()).Add(schemas.Duration(record.ExpiresAfterMS)))
	}
	m, err := d.accept(record.Tenant, &message)
	if err != nil {
		return nil, err
	}
	m.TaskID = schemas.DerivedTaskID(at, record.Tenant, record.Name, record.ID, schemas.At(at).String())
	m.MsgID, m.Schedule = m.TaskID, record.Name
	task, err := d.place(ctx, m, payloadOf(m), nil)
	if err != nil {
		return d.repeated(ctx, m, err) // another may have submitted it
	}
	return task, nil
}

// AddSchedule stores a schedule. Its message has to be one that could be submitted now; whether an agent is online does not matter.
func (d *Dispatcher) AddSchedule(ctx context.Context, tenant string, add *schemas.AddSchedule) (*schemas.Schedule, error) {
	times, err := d.checkSchedule(ctx, tenant, &add.Schedule)
	if err != nil {
		return nil, err
	}
	now := d.now()
	record := broker.ScheduleRecord{Schedule: add.Schedule, Tenant: tenant, ID: schemas.NewTaskID()}
	given(&record.Schedule)
	record.CreatedAt, record.UpdatedAt, record.NextAt = schemas.At(now), schemas.At(now), schemas.At(times.Next(now))
	key := broker.ScheduleKey(tenant, record.Name)
	if d.schedules.Len() >= d.cfg.MaxSchedules {
		if _, err := d.conn.Schedules().Get(ctx, key); err != nil {
			return nil, schemas.NewError(schemas.ResourceExhausted, "TOO_MANY_SCHEDULES",
				"there are %d schedules, as many as may be: delete one, or raise limits.schedules", d.cfg.MaxSchedules)
		}
	}
	revision, err := d.conn.Schedules().Create(ctx, key, record, 0)
	if errors.Is(err, broker.ErrExists) && add.Replace {
		return d.replaceSchedule(ctx, tenant, record)
	}
	if errors.Is(err, broker.ErrExists) {
		return d.sameSchedule(ctx, tenant, &record.Schedule)
	}
	if err != nil {
		return nil, refusal(err)
	}
	return d.changed(key, record, revision), nil
}

// sameSchedule is the schedule that is there already, if it is the same: the answer to the caller's first try may have been lost.
func (d *Dispatcher) sameSchedule(ctx context.Context, tenant string, wanted *schemas.Schedule) (*schemas.Schedule, error) {
	item, err := d.readSchedule(ctx, tenant, wanted.Name)
	if err != nil {
		return nil, err
	}
	there, asked := item.Value.Schedule, *wanted
	given(&there)
	given(&asked)
	if !bytes.Equal(schemas.MustEncode(there), schemas.MustEncode(asked)) {
		return nil, schemas.NewError(schemas.AlreadyExists, "SCHEDULE_EXISTS",
			"there is another schedule %s already: replace it, or choose another name", wanted.Name)
	}
	return timetable.View(item.Value, item.Revision), nil
}

// replaceSchedule puts a schedule in the place of one of its name, which keeps its identity, and stays paused if it was.
func (d *Dispatcher) replaceSchedule(ctx context.Context, tenant string, fresh broker.ScheduleRecord) (*schemas.Schedule, error) {
	return d.changeSchedule(ctx, tenant, fresh.Name, func(old *broker.ScheduleRecord) error {
		fresh.ID, fresh.CreatedAt = old.ID, old.CreatedAt
		fresh.LastAt, fresh.LastTaskID, fresh.LastMissedAt = old.LastAt, old.LastTaskID, old.LastMissedAt
		if old.NextAt.IsZero() {
			fresh.NextAt = schemas.Time{}
		}
		*old = fresh
		return nil
	})
}

// given keeps of a schedule what its caller gives.
func given(s *schemas.Schedule) {
	s.State, s.Revision, s.LastTaskID, s.LastError = "", 0, "", nil
	s.NextAt, s.LastAt, s.LastMissedAt, s.CreatedAt, s.UpdatedAt = schemas.Time{}, schemas.Time{}, schemas.Time{}, schemas.Time{}, schemas.Time{}
}

// checkSchedule refuses what could never be submitted.
func (d *Dispatcher) checkSchedule(ctx context.Context, tenant string, s *schemas.Schedule) (*schedule.Times, error) {
	if problem := s.Check(); problem != nil {
		return nil, problem
	}
	times, problem := schedule.Parse(s.Cron, s.TimeZone)
	if problem != nil {
		return nil, problem
	}
	if size := len(s.Message.Payload); size > schemas.MaxSchedulePayloadBytes {
		return nil, schemas.NewError(schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge,
			"the payload has %d bytes; at most %d are kept in a schedule", size, schemas.MaxSchedulePayloadBytes).
			With("size_bytes", size).With("limit_bytes", schemas.MaxSchedulePayloadBytes).With("field", "/message/payload")
	}
	trial, err := d.accept(tenant, &s.Message)
	if err != nil {
		return nil, err
	}
	_, err = d.resolve(ctx, trial, payloadOf(trial))
	return times, err
}

// changed is a schedule as it was just written. The next look of this dispatcher sees it, too.
func (d *Dispatcher) changed(key string, record broker.ScheduleRecord, revision uint64) *schemas.Schedule {
	d.schedules.Learn(broker.Item[broker.ScheduleRecord]{Key: key, Value: record, Revision: revision})
	return timetable.View(record, revision)
}

// changeSchedule changes a schedule of a tenant, whatever others do with it meanwhile.
func (d *Dispatcher) changeSchedule(
	ctx context.Context, tenant, name string, change func(*broker.ScheduleRecord) error,
) (*schemas.Schedule, error) {
	for range scheduleTries {
		item, err := d.readSchedule(ctx, tenant, name)
		if err != nil {
			return nil, err
		}
		if err := change(&item.Value); err != nil {
			return nil, err
		}
		revision, err := d.conn.Schedules().Update(ctx, item.Key, item.Value, item.Revision)
		if err == nil {
			return d.changed(item.Key, item.Value, revision), nil
		}
		if !errors.Is(err, broker.ErrConflict) {
			return nil, refusal(err)
		}
	}
	return nil, schemas.NewError(schemas.Unavailable, "", "the schedule is changing too fast; try again")
}

func (d *Dispatcher) readSchedule(ctx context.Context, tenant, name string) (broker.Item[broker.ScheduleRecord], error) {
	if err := schemas.CheckSchedule(name); err != nil {
		return broker.Item[broker.ScheduleRecord]{}, err
	}
	item, err := d.conn.Schedules().Get(ctx, broker.ScheduleKey(tenant, name))
	if errors.Is(err, broker.ErrNotFound) {
		return item, schemas.NewError(schemas.NotFound, "UNKNOWN_SCHEDULE", "there is no such schedule (reach schedule list)")
	}
	if err != nil {
		return item, refusal(err)
	}
	return item, nil
}

// Schedule is one schedule.
func (d *Dispatcher) Schedule(ctx context.Context, tenant, name string) (*schemas.Schedule, error) {
	item, err := d.readSchedule(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	return timetable.View(item.Value, item.Revision), nil
}

// PauseSchedule lets nothing of a schedule happen until it is resumed. What would have been due meanwhile does not count as missed.
func (d *Dispatcher) PauseSchedule(ctx context.Context, tenant, name string) (*schemas.Schedule, error) {
	return d.changeSchedule(ctx, tenant, name, func(r *broker.ScheduleRecord) error {
		r.NextAt, r.UpdatedAt = schemas.Time{}, schemas.At(d.now())
		return nil
	})
}

// ResumeSchedule goes on with the next time that comes.
func (d *Dispatcher) ResumeSchedule(ctx context.Context, tenant, name string) (*schemas.Schedule, error) {
	return d.changeSchedule(ctx, tenant, name, func(r *broker.ScheduleRecord) error {
		times, problem := schedule.Parse(r.Cron, r.TimeZone)
		if problem != nil {
			return problem
		}
		if r.NextAt.IsZero() {
			r.NextAt = schemas.At(times.Next(d.now()))
		}
		r.UpdatedAt, r.LastError = schemas.At(d.now()), nil
		return nil
	})
}

// DeleteSchedule takes a schedule out, and gives it as it was. The tasks that it has submitted go on.
func (d *Dispatcher) DeleteSchedule(ctx context.Context, tenant, name string) (*schemas.Schedule, error) {
	item, err := d.readSchedule(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	if err := d.conn.Schedules().Delete(ctx, item.Key); err != nil {
		return nil, refusal(err)
	}
	d.schedules.Learn(broker.Item[broker.ScheduleRecord]{Key: item.Key, Deleted: true})
	return timetable.View(item.Value, item.Revision), nil
}

// ListSchedules is a page of a tenant's schedules, by name.
func (d *Dispatcher) ListSchedules(_ context.Context, tenant string, query schemas.ScheduleQuery) (*schemas.SchedulePage, error) {
	size := cmp.Or(query.PageSize, schemas.DefaultPageSize)
	page := &schemas.SchedulePage{Items: d.schedules.After(tenant, query.PageToken)}
	if len(page.Items) > size {
		page.Items = page.Items[:size]
		page.NextPageToken = page.Items[size-1].Name
	}
	return page, nil
}
