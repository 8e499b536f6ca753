// Package nearest finds the known names that a mistyped one may have meant: letters left out, doubled, wrong or swapped, and words
// in another order, so that search_web finds web_search.
package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// maxLength bounds what is compared: no name of ours is longer, and the work grows with the product of two lengths.
const maxLength = 128

// Names are at most limit of the known names, the nearest first, that are near enough to name to be worth a question.
func Names(name string, known []string, limit int) []string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	for _, k := range known {
		if d, ok := distance(name, k); ok {
			near = append(near, candidate{k, d})
		}
	}
	slices.SortFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	names := make([]string, 0, limit)
	for _, c := range near[:min(limit, len(near))] {
		names = append(names, c.name)
	}
	return names
}

// Name is the nearest of the known names, if one is near enough.
func Name(name string, known []string) (nearest string, found bool) {
	names := Names(name, known, 1)
	if len(names) == 0 {
		return "", false
	}
	return names[0], true
}

// distance is how many edits lie between two names, and whether that is few for their length. Words in another order count as one.
func distance(a, b string) (int, bool) {
	if len(a) > maxLength || len(b) > maxLength {
		return 0, false
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	allowed := min(len(a), len(b)) / 3
	d := Edits(a, b)
	if sa, sb := sortWords(a), sortWords(b); sa != a || sb != b {
		d = min(d, 1+Edits(sa, sb))
	}
	if d > allowed && (sharesWords(a, b) || sharesBeginning(a, b)) {
		return allowed + d, true
	}
	return d, d <= allowed
}

// sharesWords reports whether every word of the shorter name is one of the longer.
func sharesWords(a, b string) bool {
	wa, wb := words(a), words(b)
	if len(wa) > len(wb) {
		wa, wb = wb, wa
	}
	for _, w := range wa {
		if !slices.Contains(wb, w) {
			return false
		}
	}
	return len(wa) > 0
}

// sharesBeginning reports whether one name, if not too short to mean anything, begins the other.
func sharesBeginning(a, b string) bool {
	const shortest = 4
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) >= shortest && strings.HasPrefix(b, a)
}

func sortWords(name string) string {
	sorted := words(name)
	slices.Sort(sorted)
	return strings.Join(sorted, "_")
}

func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-. /", r) })
}

// Edits counts the letters to insert, delete, replace or swap with their neighbour to make b of a.
func Edits(a, b string) int {
	from, to := []rune(a), []rune(b)
	rows := [3][]int{make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)}
	before, last, row := rows[0], rows[1], rows[2]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(from); i++ {
		row[0] = i
		for j := 1; j <= len(to); j++ {
			replaced := last[j-1]
			if from[i-1] != to[j-1] {
				replaced++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replaced)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(to)]
}
