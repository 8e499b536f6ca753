package schedule

import (
	"cmp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/agentreach/agent-reach/schemas"
)

// Times are when a schedule is due.
//
// A schedule that names hours is kept by the clock on the wall: a time that a change of clocks leaves out comes as much later as the
// clock is put forward, and one that comes twice counts the first time alone. One that is due in every hour is kept by time that
// passes: it is due in each hour that there is. Neither runs twice for one time, or leaves one out.
type Times struct {
	cron      cron.Schedule
	zone      *time.Location
	everyHour bool
}

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

const (
	allHours = 1<<24 - 1
	horizon  = 6 * 365 * 24 * time.Hour // a time that has not come by then never comes
	maxExpr  = 256
)

// Parse reads an expression and the name of a time zone: five fields (minute, hour, day of the month, month, day of the week), or
// @hourly, @daily, @weekly, @monthly, @yearly, or @every and a span of whole seconds. No zone is UTC. An expression that is never due
// is refused.
func Parse(expression, zone string) (*Times, *schemas.Error) {
	location, problem := parseZone(zone)
	if problem != nil {
		return nil, problem
	}
	if len(expression) > maxExpr || strings.Contains(expression, "TZ=") {
		return nil, badCron()
	}
	parsed, err := parser.Parse(expression)
	if err != nil {
		return nil, badField(expression)
	}
	if problem := wholeSeconds(expression); problem != nil {
		return nil, problem
	}
	t := &Times{cron: parsed, zone: location}
	if spec, fields := parsed.(*cron.SpecSchedule); fields {
		t.everyHour = spec.Hour&allHours == allHours
	}
	if t.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, "cron is never due: no such day comes").With("field", "/cron")
	}
	return t, nil
}

func badCron() *schemas.Error {
	const expected = `five fields such as "0 7 * * mon-fri" (minute, hour, day of the month, month, day of the week), @daily, or @every 90s`
	return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, "cron takes %s", expected).
		With("field", "/cron").With("expected", expected)
}

// fieldNames are those of the five fields, with what each takes.
var fieldNames = [...]string{
	"minute (0-59)", "hour (0-23)", "day of the month (1-31)", "month (1-12 or jan-dec)", "day of the week (0-6 or sun-sat)",
}

// badField says which of five fields is the bad one: it is tried with stars in place of the others.
func badField(expression string) *schemas.Error {
	fields := strings.Fields(expression)
	if len(fields) != len(fieldNames) || strings.HasPrefix(fields[0], "@") {
		return badCron()
	}
	for i, field := range fields {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = field
		if _, err := parser.Parse(strings.Join(alone, " ")); err != nil {
			return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, "cron: %q is no %s", field, fieldNames[i]).
				With("field", "/cron").With("expected", fieldNames[i])
		}
	}
	return badCron()
}

// wholeSeconds refuses the spans that the parser would round.
func wholeSeconds(expression string) *schemas.Error {
	text, every := strings.CutPrefix(expression, "@every ")
	span, err := time.ParseDuration(text)
	if !every || err == nil && span >= time.Second && span%time.Second == 0 {
		return nil
	}
	const expected = "whole seconds from 1s up, such as @every 90s"
	return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, "cron: @every takes %s", expected).
		With("field", "/cron").With("expected", expected)
}

func parseZone(zone string) (*time.Location, *schemas.Error) {
	location, err := time.LoadLocation(cmp.Or(zone, "UTC"))
	if err != nil || zone == "Local" {
		return nil, schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue,
			"time_zone takes a name of the IANA time zones, such as Europe/Berlin or UTC").With("field", "/time_zone")
	}
	return location, nil
}

// Next is the first due time after another, to the second; zero if none comes within six years.
func (t *Times) Next(after time.Time) time.Time {
	spec, fields := t.cron.(*cron.SpecSchedule)
	if !fields {
		return t.cron.Next(after.UTC())
	}
	from, limit := after, after.Add(horizon)
	for s := segmentAt(after, t.zone); from.Before(limit); s = segmentAt(s.end, t.zone) {
		if next := t.within(spec, s, from); !next.IsZero() {
			return next.UTC()
		}
		if s.end.IsZero() {
			break
		}
		from = s.end.Add(-time.Nanosecond)
	}
	return time.Time{}
}

// within is the first due time after from, which is in a segment or just before it; zero if the segment has none.
func (t *Times) within(spec *cron.SpecSchedule, s segment, from time.Time) time.Time {
	next := nextAt(spec, s.offset, from)
	if !t.everyHour {
		if again := s.start.Add(s.back); s.back > 0 && next.Before(again) {
			next = nextAt(spec, s.offset, again.Add(-time.Nanosecond))
		}
		left := nextAt(spec, s.offset-s.forward, from)
		if s.forward > 0 && left.Before(s.start.Add(s.forward)) && left.Before(next) {
			next = left
		}
	}
	if !s.end.IsZero() && !next.Before(s.end) {
		return time.Time{}
	}
	return next
}

// nextAt is the next time where the clock on the wall is always as far from UTC.
func nextAt(spec *cron.SpecSchedule, offset time.Duration, from time.Time) time.Time {
	return spec.Next(from.In(time.FixedZone("", int(offset/time.Second))))
}

// segment is a time in which the clock on the wall keeps its distance from UTC. At its start the clock may have been put forward or
// back, by so much.
type segment struct {
	start, end    time.Time // zero: there is none
	offset        time.Duration
	forward, back time.Duration
}

func segmentAt(at time.Time, zone *time.Location) segment {
	local := at.In(zone)
	start, end := local.ZoneBounds()
	s := segment{start: start, end: end, offset: offsetOf(local)}
	if start.IsZero() {
		return s
	}
	change := s.offset - offsetOf(start.Add(-time.Nanosecond))
	s.forward, s.back = max(change, 0), max(-change, 0)
	return s
}

func offsetOf(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}
