package redact

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// span is a part of a text: from its first byte to behind its last.
type span struct{ from, to int }

// find returns where the keys are in a text, in order and without overlap. Of a
// truncated text, what is behind end may be the first part of a key. The time
// it takes grows with the length of the text and of the keys alone.
func find(text string, keys []string, truncated bool) (found []span, end int) {
	var exact, folded []needle
	for _, key := range keys {
		bare := string(read(key).fold().plain)
		if bare != "" {
			folded = append(folded, newNeedle(bare))
		}
		if bare == "" || !isASCII(key) { // an ASCII key is found by its letters alone
			for _, form := range encodings(key) {
				exact = append(exact, newNeedle(form))
			}
		}
	}
	end = len(text)
	for r := range readings(text, truncated) {
		partial := len(text)
		for _, n := range exact {
			found, partial = n.find(r, found, partial)
		}
		if len(folded) > 0 {
			bare := r.fold()
			for _, n := range folded {
				found, partial = n.find(bare, found, partial)
			}
		}
		if truncated {
			end = min(end, partial)
		}
	}
	return merge(found), end
}

// merge sorts spans and joins those that overlap.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := spans[:0]
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && s.from < merged[last].to {
			merged[last].to = max(merged[last].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// needle is one form of a key. fallback[n] is the length of the longest shorter
// beginning of it that its first n bytes end in, so that a search never goes
// back in the text (Knuth, Morris and Pratt).
type needle struct {
	text     string
	fallback []int
}

func newNeedle(text string) needle {
	n := needle{text, make([]int, len(text)+1)}
	for i, matched := 1, 0; i < len(text); i++ {
		matched = n.next(matched, text[i])
		n.fallback[i+1] = matched
	}
	return n
}

// next returns how many bytes match after one more byte was read.
func (n needle) next(matched int, char byte) int {
	if matched == len(n.text) {
		matched = n.fallback[matched]
	}
	for matched > 0 && n.text[matched] != char {
		matched = n.fallback[matched]
	}
	if n.text[matched] == char {
		matched++
	}
	return matched
}

// find adds the places of the needle to found. If the reading ends within the
// needle, partial becomes the place where that begins, unless it is less.
func (n needle) find(r reading, found []span, partial int) ([]span, int) {
	matched, first := 0, len(found)
	for i := 0; i < len(r.plain); i++ {
		if matched == 0 {
			skip := bytes.IndexByte(r.plain[i:], n.text[0])
			if skip < 0 {
				break
			}
			i += skip
		}
		if matched = n.next(matched, r.plain[i]); matched < len(n.text) {
			continue
		}
		s := span{r.at[i+1-matched].from, r.at[i].to}
		if last := len(found) - 1; last >= first && s.from < found[last].to {
			found[last].to = s.to
		} else {
			found = append(found, s)
		}
	}
	if matched == len(n.text) {
		matched = n.fallback[matched]
	}
	if matched > 0 {
		partial = min(partial, r.at[len(r.plain)-matched].from)
	}
	return found, partial
}

// encodings returns a key as it is, as it is when its bytes are taken for
// Latin-1, and in Latin-1, UTF-16 and UTF-32, where it can be had in them.
func encodings(key string) []string {
	var mistaken, latin, big16, little16, big32, little32 []byte
	for i := range len(key) {
		mistaken = utf8.AppendRune(mistaken, rune(key[i]))
	}
	forms := []string{key, string(mistaken)}
	if !utf8.ValidString(key) {
		return forms
	}
	highest := rune(0)
	for _, r := range key {
		highest = max(highest, r)
		latin = append(latin, byte(r))
		big32 = append(big32, byte(r>>24), byte(r>>16), byte(r>>8), byte(r))
		little32 = append(little32, byte(r), byte(r>>8), byte(r>>16), byte(r>>24))
		for _, unit := range utf16.AppendRune(nil, r) {
			big16 = append(big16, byte(unit>>8), byte(unit))
			little16 = append(little16, byte(unit), byte(unit>>8))
		}
	}
	if highest <= 0xff {
		forms = append(forms, string(latin))
	}
	return append(forms, string(big16), string(little16), string(big32), string(little32))
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
