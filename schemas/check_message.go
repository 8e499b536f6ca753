package schemas

// MaxIntentBytes bounds what a caller says it wants.
const MaxIntentBytes = 256

var (
	responseModes      = []ResponseMode{ModeSync, ModeAsync, ModeStream}
	qualitiesOfService = []QualityOfService{QoSRealtime, QoSStandard, QoSComplete}
)

// Check refuses an envelope that no dispatcher takes: a bound or a grammar of one of the caller's fields is broken, or the message
// is of a version that this code does not speak. It looks at no payload and no clock. A traceparent or trace_id that is not in the
// form of W3C Trace Context is dropped, as that standard asks.
func (m *ReachMessage) Check() *Error {
	m.dropStrangeTrace()
	return firstOf(
		checkVersion(m.V),
		m.checkTarget(),
		m.checkPayload(),
		m.checkNames(),
		m.checkTimes(),
		m.checkWishes(),
		checkTags(m.Tags, "/tags"),
		checkObject(m.Metadata, MaxMetadataBytes, "/metadata"),
		m.checkUnknown(),
	)
}

func (m *ReachMessage) dropStrangeTrace() {
	if !validTraceparent(m.Traceparent) {
		m.Traceparent = ""
	}
	if !validTraceID(m.TraceID) {
		m.TraceID = ""
	}
}

// ContinueTrace takes a traceparent that came beside the message, in a header. The message's own comes first, and it is not taken where
// the message names another trace, or where it has not the form of W3C Trace Context.
func (m *ReachMessage) ContinueTrace(traceparent string) {
	if m.Traceparent != "" || !validTraceparent(traceparent) || m.TraceID != "" && m.TraceID != traceparent[3:35] {
		return
	}
	m.Traceparent = traceparent
}

func (m *ReachMessage) checkTarget() *Error {
	switch {
	case m.Capability != "" && m.Intent != "":
		return badValue("/intent", "nothing where capability is given; send one of the two")
	case m.Capability != "":
		return at("/capability", CheckCapability(m.Capability))
	case m.Intent != "":
		return checkText(m.Intent, MaxIntentBytes, "/intent")
	}
	return badValue("/capability", "the id of a capability; it is required unless intent says what is wanted")
}

func (m *ReachMessage) checkPayload() *Error {
	if m.PayloadRef == nil {
		return nil
	}
	return firstOf(
		unless(m.Payload == nil, "/payload_ref", "nothing where payload is given; send one of the two"),
		within("/payload_ref", m.PayloadRef.Check()),
	)
}

func (m *ReachMessage) checkNames() *Error {
	return firstOf(
		ifSet(m.MsgID, "/msg_id", CheckMsgID),
		ifSet(m.TaskID, "/task_id", CheckTaskID),
		ifSet(m.RetryOf, "/retry_of", CheckTaskID),
		ifSet(m.PreferAgent, "/prefer_agent", CheckAgentID),
	)
}

func (m *ReachMessage) checkTimes() *Error {
	inOrder := m.ExpiresAt.IsZero() || m.NotBefore.IsZero() || m.ExpiresAt.After(m.NotBefore.Time)
	return firstOf(
		checkSpan(m.TimeoutMS, "/timeout_ms"),
		checkSpan(m.RunTimeoutMS, "/run_timeout_ms"),
		unless(inOrder, "/expires_at", "a time after not_before"),
	)
}

// checkWishes are the fields that say how the task is to be handled.
func (m *ReachMessage) checkWishes() *Error {
	return firstOf(
		checkOneOf(m.ResponseMode, responseModes, "/response_mode"),
		checkOneOf(m.QualityOfService, qualitiesOfService, "/quality_of_service"),
		checkRange(int64(m.PriorityOrDefault()), 0, MaxPriority, "/priority"),
		m.checkVersionRange(),
		m.checkCallback(),
	)
}

func (m *ReachMessage) checkVersionRange() *Error {
	switch {
	case m.Version != "" && m.MinVersion != "":
		return badValue("/min_version", "nothing where version is given; send one of the two")
	case m.Version != "":
		return checkSemverRange(m.Version, "/version")
	case m.MinVersion != "":
		return checkSemver(m.MinVersion, "/min_version")
	}
	return nil
}

func (m *ReachMessage) checkCallback() *Error {
	if m.Callback == "" {
		return nil
	}
	return checkURL(m.Callback, "/callback")
}

// checkUnknown bounds what is carried and not understood: every message that is accepted has to fit the broker whatever is added to it.
func (m *ReachMessage) checkUnknown() *Error {
	if len(m.Unknown) <= MaxMetadataBytes {
		return nil
	}
	return NewError(ResourceExhausted, ReasonPayloadTooLarge, "the unknown members have %d bytes; at most %d are accepted",
		len(m.Unknown), MaxMetadataBytes).With("field", "/").With("size_bytes", len(m.Unknown)).With("limit_bytes", MaxMetadataBytes)
}
