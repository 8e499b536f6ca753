// Package nearest finds the known name that a mistyped one was probably meant to be.
package nearest

import "strings"

// Name is the known name closest to unknown, and whether it is close enough to suggest: at most a third of its letters differ.
// Case, and - for _, count as no difference. Of two equally close ones the first is taken.
func Name(unknown string, known []string) (string, bool) {
	best, bestDistance := "", -1
	for _, candidate := range known {
		if d := distance(fold(unknown), fold(candidate)); bestDistance < 0 || d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best, bestDistance >= 0 && bestDistance <= max(2, len(best)/3) && bestDistance < len(best)
}

func fold(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// distance counts the letters to insert, delete or replace, a swap of neighbours counting once.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	before, last := make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(from); i++ {
		row := make([]int, len(to)+1)
		row[0] = i
		for j := 1; j <= len(to); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differs(from[i-1], to[j-1]))
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(to)]
}

func differs(a, b rune) int {
	if a == b {
		return 0
	}
	return 1
}
