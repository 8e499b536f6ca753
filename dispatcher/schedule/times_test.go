package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/dispatcher/schedule"
)

func mustParse(t interface{ Fatal(...any) }, expression, zone string) *schedule.Times {
	times, problem := schedule.Parse(expression, zone)
	if problem != nil {
		t.Fatal(problem)
	}
	return times
}

// moment reads a time as "2026-03-29T01:30:00+01:00".
func moment(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestNext(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, cron, zone, after, want string }{
		{"each day, without a zone", "30 2 * * *", "", "2026-11-29T10:00:00Z", "2026-11-30T02:30:00Z 2026-12-01T02:30:00Z"},
		{"on working days", "0 7 * * mon-fri", "Europe/Berlin", "2026-11-27T06:00:00Z", "2026-11-30T07:00:00+01:00 2026-12-01T07:00:00+01:00"},
		{"on a leap day", "0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z"},
		{"a descriptor", "@monthly", "Asia/Tokyo", "2026-11-29T10:00:00Z", "2026-12-01T00:00:00+09:00 2027-01-01T00:00:00+09:00"},
		{"a span", "@every 90s", "", "2026-11-29T10:00:00Z", "2026-11-29T10:01:30Z 2026-11-29T10:03:00Z"},
		{"a zone of three quarters of an hour", "0 6 * * *", "Asia/Kathmandu", "2026-11-29T00:16:00Z", "2026-11-30T06:00:00+05:45"},

		// Berlin, 29 March 2026: 02:00 becomes 03:00. 25 October: 03:00 becomes 02:00.
		{
			"Berlin forward: what is left out comes an hour later", "30 2 * * *", "Europe/Berlin", "2026-03-28T02:30:00+01:00",
			"2026-03-29T03:30:00+02:00 2026-03-30T02:30:00+02:00",
		},
		{
			"Berlin forward: two that are left out stay two", "0,30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00",
			"2026-03-29T03:00:00+02:00 2026-03-29T03:30:00+02:00 2026-03-30T02:00:00+02:00",
		},
		{
			"Berlin forward: one that was due then anyway is one", "0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00",
			"2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00 2026-03-30T03:00:00+02:00",
		},
		{
			"Berlin forward: each hour that there is", "0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00+01:00",
			"2026-03-29T01:00:00+01:00 2026-03-29T03:00:00+02:00 2026-03-29T04:00:00+02:00",
		},
		{
			"Berlin back: what comes twice counts once", "30 2 * * *", "Europe/Berlin", "2026-10-24T02:30:00+02:00",
			"2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00",
		},
		{
			"Berlin back: asked in between, it is not due again", "30 2 * * *", "Europe/Berlin", "2026-10-25T02:10:00+01:00",
			"2026-10-26T02:30:00+01:00",
		},
		{
			"Berlin back: each hour that there is", "0 * * * *", "Europe/Berlin", "2026-10-25T01:00:00+02:00",
			"2026-10-25T02:00:00+02:00 2026-10-25T02:00:00+01:00 2026-10-25T03:00:00+01:00",
		},
		{
			"Berlin back: every half hour of each hour", "*/30 * * * *", "Europe/Berlin", "2026-10-25T02:00:00+02:00",
			"2026-10-25T02:30:00+02:00 2026-10-25T02:00:00+01:00 2026-10-25T02:30:00+01:00 2026-10-25T03:00:00+01:00",
		},
		{
			"Berlin back: some minutes of one hour", "*/30 2 * * *", "Europe/Berlin", "2026-10-25T02:00:00+02:00",
			"2026-10-25T02:30:00+02:00 2026-10-26T02:00:00+01:00",
		},

		{
			"New York forward", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00-05:00",
			"2026-03-08T03:30:00-04:00 2026-03-09T02:30:00-04:00",
		},
		{
			"New York back", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00-04:00",
			"2026-11-01T01:30:00-04:00 2026-11-02T01:30:00-05:00",
		},
		{
			"Lord Howe forward by half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30",
			"2026-10-04T02:45:00+11:00 2026-10-05T02:15:00+11:00",
		},
		{
			"Lord Howe back by half an hour", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00+11:00",
			"2026-04-05T01:45:00+11:00 2026-04-06T01:45:00+10:30",
		},
		{
			"Lord Howe, each quarter of an hour that there is", "*/15 * * * *", "Australia/Lord_Howe", "2026-04-05T01:30:00+11:00",
			"2026-04-05T01:45:00+11:00 2026-04-05T01:30:00+10:30 2026-04-05T01:45:00+10:30 2026-04-05T02:00:00+10:30",
		},
		{
			"Cairo has a day without midnight", "@daily", "Africa/Cairo", "2026-04-23T12:00:00+02:00",
			"2026-04-24T01:00:00+03:00 2026-04-25T00:00:00+03:00",
		},
		{
			"Santiago has one, too", "0 0 * * *", "America/Santiago", "2026-09-05T12:00:00-04:00",
			"2026-09-06T01:00:00-03:00 2026-09-07T00:00:00-03:00",
		},
		{
			"Havana has two midnights", "@midnight", "America/Havana", "2026-10-31T12:00:00-04:00",
			"2026-11-01T00:00:00-04:00 2026-11-02T00:00:00-05:00",
		},
		{
			"Apia had no 30th of December 2011", "0 12 * * *", "Pacific/Apia", "2011-12-29T11:00:00-10:00",
			"2011-12-29T12:00:00-10:00 2011-12-31T12:00:00+14:00 2012-01-01T12:00:00+14:00",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			times := mustParse(t, tt.cron, tt.zone)
			at := moment(t, tt.after)
			for _, text := range strings.Fields(tt.want) {
				next, want := times.Next(at), moment(t, text)
				if !next.Equal(want) {
					t.Fatalf("after %s: %s, want %s", at, next.In(want.Location()), want)
				}
				at = next
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, cron, zone, field string }{
		{"parts of a second", "@every 1.5s", "", "/cron"},
		{"less than a second", "@every 500ms", "", "/cron"},
		{"no time at all", "@every 0s", "", "/cron"},
		{"a time that runs back", "@every -5s", "", "/cron"},
		{"nothing", "", "", "/cron"},
		{"four fields", "* * * *", "", "/cron"},
		{"six fields", "0 * * * * *", "", "/cron"},
		{"a minute that is none", "60 * * * *", "", "/cron"},
		{"a day that never comes", "0 0 30 2 *", "", "/cron"},
		{"a zone within the expression", "TZ=Europe/Berlin 0 7 * * *", "", "/cron"},
		{"a cron zone within the expression", "CRON_TZ=UTC 0 7 * * *", "", "/cron"},
		{"words", "each day", "", "/cron"},
		{"a descriptor that is none", "@reboot", "", "/cron"},
		{"a span that is none", "@every soon", "", "/cron"},
		{"no zone of the list", "0 7 * * *", "Europe/Bonn", "/time_zone"},
		{"the machine's own zone", "0 7 * * *", "Local", "/time_zone"},
		{"a path", "0 7 * * *", "../../etc/passwd", "/time_zone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var field string
			_, problem := schedule.Parse(tt.cron, tt.zone)
			if problem == nil || !problem.Detail("field", &field) || field != tt.field {
				t.Errorf("%v", problem)
			}
		})
	}
}

func TestBadFieldIsNamed(t *testing.T) {
	t.Parallel()
	tests := []struct{ cron, want string }{
		{"61 * * * *", `"61" is no minute (0-59)`},
		{"0 24 * * *", `"24" is no hour (0-23)`},
		{"0 7 0 * *", `"0" is no day of the month (1-31)`},
		{"0 7 * 1-13 *", `"1-13" is no month (1-12 or jan-dec)`},
		{"0 7 * * montag", `"montag" is no day of the week (0-6 or sun-sat)`},
		{"* * * *", "cron takes five fields"},
		{"0 0 7 * * *", "cron takes five fields"},
		{"@every 1.5s", "@every takes whole seconds"},
	}
	for _, tt := range tests {
		if _, problem := schedule.Parse(tt.cron, ""); problem == nil || !strings.Contains(problem.Message, tt.want) {
			t.Errorf("%s: %v, want %s", tt.cron, problem, tt.want)
		}
	}
}

// zones change their clocks by an hour, by half an hour, at midnight, or not at all.
var zones = []string{
	"UTC", "Europe/Berlin", "Europe/London", "America/New_York", "America/St_Johns", "America/Santiago", "Australia/Lord_Howe", "Africa/Cairo",
	"Asia/Kathmandu", "America/Havana", "Pacific/Chatham", "Africa/Casablanca",
}

// TestEveryTimeOfTheWallIsDueOnce walks through a year, in every zone: what the clock on the wall shows the first
// time is due if the expression says so, what it shows again is not, and what it leaves out is due that much later.
func TestEveryTimeOfTheWallIsDueOnce(t *testing.T) {
	t.Parallel()
	for _, zone := range zones {
		for _, hour := range []int{0, 1, 2, 3} {
			t.Run(zone, func(t *testing.T) {
				t.Parallel()
				location, err := time.LoadLocation(zone)
				if err != nil {
					t.Fatal(err)
				}
				times := mustParse(t, fmt.Sprintf("15,45 %d * * *", hour), zone)
				from, to := time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 6, 0, 0, 0, time.UTC)
				var got []time.Time
				for at := times.Next(from); at.Before(to); at = times.Next(at) {
					got = append(got, at)
				}
				if diff := cmp.Diff(onTheWall(location, hour, from, to), got); diff != "" {
					t.Errorf("hour %d (-want +got)\n%s", hour, diff)
				}
			})
		}
	}
}

// onTheWall says the same in another way: the minutes of each day at a quarter and three quarters of an hour, as Go's own time.Date
// places them on the day, where that is what the wall shows; else as much later as the clock was put forward.
func onTheWall(zone *time.Location, hour int, from, to time.Time) []time.Time {
	var due []time.Time
	for day := from.In(zone).AddDate(0, 0, -1); day.Before(to.AddDate(0, 0, 1)); day = day.AddDate(0, 0, 1) {
		for _, minute := range []int{15, 45} {
			at := placed(time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.UTC), hour, minute, zone)
			if at.After(from) && at.Before(to) {
				due = append(due, at.UTC())
			}
		}
	}
	slices.SortFunc(due, time.Time.Compare)
	return slices.CompactFunc(due, time.Time.Equal)
}

// placed tries all the distances from UTC that the zone has around that day, the earliest instant first.
func placed(day time.Time, hour, minute int, zone *time.Location) time.Time {
	wall := day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	_, before := wall.Add(-30 * time.Hour).In(zone).Zone()
	_, after := wall.Add(30 * time.Hour).In(zone).Zone()
	for _, offset := range []int{max(before, after), min(before, after)} {
		at := wall.Add(-time.Duration(offset) * time.Second)
		local := at.In(zone)
		if local.Hour() == hour && local.Minute() == minute {
			return at
		}
	}
	return wall.Add(-time.Duration(before) * time.Second) // left out: as if the clock had not been put forward
}

// TestNextIsTheNext: whatever the expression, the zone and the moment, the next time lies after it, nothing is due in between, and it
// is the same from wherever in between it is asked.
func TestNextIsTheNext(t *testing.T) {
	t.Parallel()
	expressions := []string{
		"* * * * *", "*/7 * * * *", "0 * * * *", "30 */2 * * *", "30 1-3 * * *", "0 0 * * *", "15 2 * * sun", "59 23 31 * *", "@hourly", "@weekly",
	}
	rapid.Check(t, func(t *rapid.T) {
		times := mustParse(t, rapid.SampledFrom(expressions).Draw(t, "cron"), rapid.SampledFrom(zones).Draw(t, "zone"))
		at := time.Unix(rapid.Int64Range(1735689600, 1830297600).Draw(t, "at"), 0)
		next := times.Next(at)
		if !next.After(at) {
			t.Fatalf("after %s comes %s", at, next)
		}
		between := at.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(at))-1).Draw(t, "between")))
		if again := times.Next(between); !again.Equal(next) {
			t.Fatalf("from %s it is %s, from %s %s", at, next, between, again)
		}
	})
}
