package schemas

import "github.com/go-json-experiment/json/jsontext"

// MissedRuns says what becomes of the times of a schedule at which nobody was there to run them.
type MissedRuns string

// The ways to deal with missed times.
const (
	MissedSkip MissedRuns = "skip" // they are not run; the default
	MissedOnce MissedRuns = "once" // of all that are due, the last one is run
	MissedAll  MissedRuns = "all"  // each is run, the last 100 at most
)

// ScheduleState is how a schedule stands.
type ScheduleState string

// The states of a schedule; the last task of one that fails could not be submitted.
const (
	ScheduleActive  ScheduleState = "active"
	SchedulePaused  ScheduleState = "paused"
	ScheduleFailing ScheduleState = "failing"
)

// Bounds of a schedule.
const (
	MaxCronBytes            = 256
	MaxTimeZoneBytes        = 64
	MaxSchedulePayloadBytes = 64 << 10
)

// Schedule is a task that recurs. A caller gives the upper part; State and what follows are the dispatcher's. Message is what each
// occurrence is submitted with; it has no msg_id, not_before or expires_at of its own.
type Schedule struct {
	V              Version      `json:"v"`
	Name           string       `json:"name"`
	Cron           string       `json:"cron"`
	TimeZone       string       `json:"time_zone,omitzero"` // IANA; UTC when absent
	Missed         MissedRuns   `json:"missed,omitzero"`    // skip when absent
	ExpiresAfterMS int64        `json:"expires_after_ms,omitzero"`
	Message        ReachMessage `json:"message"`

	State        ScheduleState `json:"state,omitzero"`
	NextAt       Time          `json:"next_at,omitzero"`        // absent while it is paused
	LastAt       Time          `json:"last_at,omitzero"`        // the due time of the last occurrence that was submitted
	LastTaskID   string        `json:"last_task_id,omitzero"`   // that occurrence
	LastMissedAt Time          `json:"last_missed_at,omitzero"` // the last due time at which nobody was there, and that was passed over
	LastError    *Error        `json:"last_error,omitzero"`     // why the last occurrence could not be submitted; absent if it could
	CreatedAt    Time          `json:"created_at,omitzero"`
	UpdatedAt    Time          `json:"updated_at,omitzero"` // by a caller
	Revision     uint64        `json:"revision,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// AddSchedule stores a schedule. Without Replace it only creates.
type AddSchedule struct {
	V        Version  `json:"v"`
	Schedule Schedule `json:"schedule"`
	Replace  bool     `json:"replace,omitzero"`
}

// ScheduleRef names a schedule in a request.
type ScheduleRef struct {
	V    Version `json:"v"`
	Name string  `json:"name"`
}

// ScheduleQuery asks for a page of the schedules, by name.
type ScheduleQuery struct {
	V         Version `json:"v"`
	PageSize  int     `json:"page_size,omitzero"`  // 1 to 100, 50 when absent
	PageToken string  `json:"page_token,omitzero"` // the name after which it goes on
}

// SchedulePage is one page of the schedules. Payloads are left out of its items.
type SchedulePage struct {
	V             Version    `json:"v"`
	Items         []Schedule `json:"items"`
	NextPageToken string     `json:"next_page_token,omitzero"`
}
