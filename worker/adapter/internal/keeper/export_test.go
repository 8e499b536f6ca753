package keeper

import "time"

// Hasten lets the next dial come at once.
func (k *Keeper[C]) Hasten() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.notBefore = time.Time{}
}
