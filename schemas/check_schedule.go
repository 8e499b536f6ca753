package schemas

var missedRuns = []MissedRuns{MissedSkip, MissedOnce, MissedAll}

// Check refuses a schedule that no dispatcher takes. It reads neither the expression nor the time zone.
func (s *Schedule) Check() *Error {
	return firstOf(
		checkVersion(s.V),
		at("/name", CheckSchedule(s.Name)),
		checkText(s.Cron, MaxCronBytes, "/cron"),
		checkOptionalText(s.TimeZone, MaxTimeZoneBytes, "/time_zone"),
		checkOneOf(s.Missed, missedRuns, "/missed"),
		checkSpan(s.ExpiresAfterMS, "/expires_after_ms"),
		s.checkMessage(),
	)
}

// checkMessage refuses what belongs to a single task alone.
func (s *Schedule) checkMessage() *Error {
	m := &s.Message
	problem := firstOf(
		unless(m.MsgID == "", "/msg_id", "nothing in a schedule: each occurrence is a task of its own"),
		unless(m.PayloadRef == nil, "/payload_ref", "nothing in a schedule: it has a payload of at most 64 KiB"),
		unless(m.NotBefore.IsZero(), "/not_before", "nothing in a schedule: cron says when"),
		unless(m.ExpiresAt.IsZero(), "/expires_at", "nothing in a schedule: expires_after_ms says how long an occurrence may take"),
		m.Check(),
	)
	if problem == nil {
		return nil
	}
	var field string
	problem.Detail("field", &field)
	return problem.With("field", "/message"+field)
}
