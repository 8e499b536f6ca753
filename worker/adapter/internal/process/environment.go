package process

import "strings"

// secretWords in the name of a variable keep it from a program.
var secretWords = []string{"PSK", "KEY", "TOKEN", "SECRET", "PASSW", "CRED"}

// Environment is what a program sees of ours: everything but our own variables (REACH_…), names that look like secrets, and
// values that hold a password within a URL. What its owner wants it to have besides is in explicit, and what says which task it
// runs in task; later entries win.
func Environment(inherited, explicit, task []string) []string {
	kept := make([]string, 0, len(inherited)+len(explicit)+len(task))
	for _, entry := range inherited {
		if harmless(entry) {
			kept = append(kept, entry)
		}
	}
	return append(append(kept, explicit...), task...)
}

func harmless(entry string) bool {
	name, value, _ := strings.Cut(entry, "=")
	name = strings.ToUpper(name)
	if strings.HasPrefix(name, "REACH_") {
		return false
	}
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return false
		}
	}
	return !holdsPassword(value)
}

// holdsPassword finds ://user:password@ in any of the URLs of a value.
func holdsPassword(value string) bool {
	for {
		_, rest, found := strings.Cut(value, "://")
		if !found {
			return false
		}
		authority, _, _ := strings.Cut(rest, "/")
		user, _, found := strings.Cut(authority, "@")
		if found && strings.Contains(user, ":") {
			return true
		}
		value = rest
	}
}
