package schemas

// What a device without NATS, such as a phone on MQTT, exchanges with the house beside the messages that every front has. The topic
// names the device; a body never does.

// Handover is an assignment on its way to a device. Begin says that the device must not start before its receipt was answered.
type Handover struct {
	V        Version `json:"v"`
	TaskID   string  `json:"task_id"`
	Attempt  int     `json:"attempt"`
	Sequence uint64  `json:"sequence"`
	Begin    bool    `json:"begin,omitzero"`
	Message  Payload `json:"message"` // a ReachMessage
}

// DeviceReceipt is the device's word that it has the task: the first four fields of the Handover, and how far it is.
type DeviceReceipt struct {
	V        Version   `json:"v"`
	TaskID   string    `json:"task_id"`
	Attempt  int       `json:"attempt,omitzero"`
	Sequence uint64    `json:"sequence"`
	Begin    bool      `json:"begin,omitzero"`
	Progress *Progress `json:"progress,omitzero"`
}

// Check refuses a receipt that names no task.
func (r *DeviceReceipt) Check() *Error {
	return firstOf(checkVersion(r.V), at("/task_id", CheckTaskID(r.TaskID)), unless(r.Sequence > 0, "/sequence", "the sequence of the task"))
}

// DeviceBeat says that a device is there, or, with State offline, that it goes. Connection tells one connection of a device from the
// next: a goodbye that names another than the last one heard is void. Held are the sequences of the tasks that it has.
type DeviceBeat struct {
	V            Version    `json:"v"`
	InstanceID   string     `json:"instance_id,omitzero"`
	Connection   string     `json:"connection,omitzero"`
	State        AgentState `json:"state,omitzero"`
	Capabilities []string   `json:"capabilities,omitempty"`
	LoadAvg      float64    `json:"load_avg,omitzero"`
	Held         []uint64   `json:"held,omitempty"`
}

// Check refuses a beat that breaks a bound.
func (b *DeviceBeat) Check() *Error {
	return firstOf(
		checkVersion(b.V),
		checkOptionalToken(b.InstanceID, "/instance_id"),
		checkOptionalToken(b.Connection, "/connection"),
		checkOneOf(b.State, beatStates, "/state"),
		checkLength(len(b.Capabilities), MaxOffers, "/capabilities"),
		checkLength(len(b.Held), MaxHeartbeatTasks, "/held"),
	)
}

// DeviceStopped is the device's answer to a cancel: it works on the task no more. Sequence is that of the cancel; 0 is whatever was
// canceled last. Confirmed says that nothing of it runs, for certain.
type DeviceStopped struct {
	V         Version `json:"v"`
	TaskID    string  `json:"task_id"`
	Sequence  uint64  `json:"sequence,omitzero"`
	Confirmed bool    `json:"confirmed,omitzero"`
}

// DeviceAnswer answers what a device said; About is the verb of the topic. Of a receipt, result or release it has the outcome, and the
// sequence to use from then on; of a chunk the number up to which all have arrived.
type DeviceAnswer struct {
	V        Version `json:"v"`
	About    string  `json:"about"`
	MsgID    string  `json:"msg_id,omitzero"`
	TaskID   string  `json:"task_id,omitzero"`
	Outcome  Outcome `json:"outcome,omitzero"`
	Sequence uint64  `json:"sequence,omitzero"`
	N        int64   `json:"n,omitzero"`
	Error    *Error  `json:"error,omitzero"`
}

// FollowRef names a task whose chunks after a number are to be sent.
type FollowRef struct {
	V      Version `json:"v"`
	TaskID string  `json:"task_id"`
	After  int64   `json:"after,omitzero"`
}

// TaskProgress says how far the agent of a task is.
type TaskProgress struct {
	V        Version   `json:"v"`
	TaskID   string    `json:"task_id"`
	Progress *Progress `json:"progress"`
}
