package worker

// remembered is how many ended tasks a station knows; an assignment that comes again comes within seconds.
const remembered = 4096

// memory knows the tasks that came to their end here lately, each with the last sequence that it had: an assignment at or below
// that sequence is a repeat. It lives as long as the process; what must outlive it is in the journal. A value without a lock.
type memory struct {
	last  map[string]uint64
	order []string // a ring, once it is full
	next  int
}

func newMemory() memory { return memory{last: make(map[string]uint64)} }

func (m *memory) add(taskID string, sequence uint64) {
	if _, known := m.last[taskID]; !known {
		m.enter(taskID)
	}
	m.last[taskID] = max(m.last[taskID], sequence)
}

func (m *memory) enter(taskID string) {
	if len(m.order) < remembered {
		m.order = append(m.order, taskID)
		return
	}
	delete(m.last, m.order[m.next])
	m.order[m.next] = taskID
	m.next = (m.next + 1) % remembered
}

// has reports whether the assignment has ended here.
func (m *memory) has(taskID string, sequence uint64) bool {
	last, known := m.last[taskID]
	return known && sequence <= last
}
