package dispatcher

import "slices"

// followers are the bells of those who follow a task, by its id. They are guarded by the view's lock.
type followers map[string][]chan struct{}

// add gives a bell that is rung whenever something changes about a task.
func (f followers) add(taskID string) chan struct{} {
	bell := make(chan struct{}, 1)
	f[taskID] = append(f[taskID], bell)
	return bell
}

func (f followers) remove(taskID string, bell chan struct{}) {
	left := slices.DeleteFunc(f[taskID], func(other chan struct{}) bool { return other == bell })
	if len(left) == 0 {
		delete(f, taskID)
		return
	}
	f[taskID] = left
}

func (f followers) ring(taskID string) {
	for _, bell := range f[taskID] {
		select {
		case bell <- struct{}{}:
		default: // it has rung and nobody has come yet
		}
	}
}

// follow gives a bell for a task; forget takes it back.
func (v *view) follow(taskID string) (bell <-chan struct{}, forget func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	own := v.bells.add(taskID)
	return own, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.bells.remove(taskID, own)
	}
}
