package main

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// summarize keeps the most telling sentences of a text, at most so many, in their order. A sentence tells as much as its words
// are frequent in the whole text, on average.
func summarize(text string, most int) string {
	sentences := split(text)
	weight := frequencies(sentences)
	chosen := make([]int, len(sentences))
	for i := range chosen {
		chosen[i] = i
	}
	scores := make([]float64, len(sentences))
	for i, s := range sentences {
		scores[i] = score(s, weight)
	}
	slices.SortStableFunc(chosen, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	chosen = chosen[:min(most, len(chosen))]
	slices.Sort(chosen)
	kept := make([]string, len(chosen))
	for i, n := range chosen {
		kept[i] = sentences[n]
	}
	return join(kept)
}

// split cuts a text into sentences: at a full stop and its like before white space, at the wide ones of Chinese and Japanese
// anywhere, and at blank lines.
func split(text string) []string {
	var sentences []string
	for _, paragraph := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		runes := []rune(strings.Join(strings.Fields(paragraph), " "))
		from := 0
		for i := range runes {
			if endsAt(runes, i) {
				sentences = add(sentences, runes[from:i+1])
				from = i + 1
			}
		}
		sentences = add(sentences, runes[from:])
	}
	return sentences
}

func add(sentences []string, runes []rune) []string {
	if s := strings.TrimSpace(string(runes)); s != "" {
		return append(sentences, s)
	}
	return sentences
}

// endsAt tells whether the rune at i is the last of a sentence. Closing quotes and brackets belong to the sentence before them.
func endsAt(runes []rune, i int) bool {
	if strings.ContainsRune("。！？", runes[i]) {
		return true
	}
	last := i
	for last > 0 && strings.ContainsRune(`"')]”’»`, runes[last]) {
		last--
	}
	return strings.ContainsRune(".!?…", runes[last]) && (i+1 == len(runes) || runes[i+1] == ' ')
}

// common are words that say nothing about a text.
var common = map[string]bool{
	"a": true, "an": true, "and": true, "are": true, "as": true, "at": true, "be": true, "but": true, "by": true, "for": true,
	"from": true, "has": true, "have": true, "he": true, "in": true, "is": true, "it": true, "its": true, "not": true, "of": true,
	"on": true, "or": true, "she": true, "that": true, "the": true, "their": true, "they": true, "this": true, "to": true,
	"was": true, "we": true, "were": true, "which": true, "will": true, "with": true, "you": true, "的": true, "了": true,
	"是": true, "在": true, "和": true,
}

// words of a sentence, in lower case. A Han character is a word of its own.
func words(sentence string) []string {
	var found []string
	var word strings.Builder
	end := func() {
		if w := word.String(); w != "" && !common[w] {
			found = append(found, w)
		}
		word.Reset()
	}
	for _, r := range strings.ToLower(sentence) {
		switch {
		case unicode.Is(unicode.Han, r):
			end()
			word.WriteRune(r)
			end()
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			word.WriteRune(r)
		default:
			end()
		}
	}
	end()
	return found
}

func frequencies(sentences []string) map[string]int {
	count := make(map[string]int)
	for _, s := range sentences {
		for _, w := range words(s) {
			count[w]++
		}
	}
	return count
}

func score(sentence string, weight map[string]int) float64 {
	all := words(sentence)
	sum := 0
	for _, w := range all {
		sum += weight[w]
	}
	return float64(sum) / float64(max(1, len(all)))
}

// join puts a blank between sentences, except after the wide marks, which bring their own.
func join(sentences []string) string {
	var b strings.Builder
	for i, s := range sentences {
		if i > 0 && !strings.HasSuffix(sentences[i-1], "。") && !strings.HasSuffix(sentences[i-1], "！") &&
			!strings.HasSuffix(sentences[i-1], "？") {
			b.WriteByte(' ')
		}
		b.WriteString(s)
	}
	return b.String()
}
