package kafka

import (
	"slices"
	"strings"
)

// Nearest returns up to n of the names that a person may have meant by want,
// the likeliest first: small edit distance, or one contained in the other.
func Nearest(want string, names []string, n int) []string {
	type cand struct {
		name string
		d    int
	}
	lw := strings.ToLower(want)
	limit := max(2, len(want)/3)
	var cs []cand
	for _, name := range names {
		ln := strings.ToLower(name)
		d := editDistance(lw, ln)
		if lw != "" && (strings.Contains(ln, lw) || ln != "" && strings.Contains(lw, ln)) {
			d = min(d, limit)
		}
		if d <= limit && d < len(want) {
			cs = append(cs, cand{name, d})
		}
	}
	slices.SortFunc(cs, func(a, b cand) int {
		if a.d != b.d {
			return a.d - b.d
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, c := range cs[:min(n, len(cs))] {
		out = append(out, c.name)
	}
	return out
}

// editDistance counts inserted, deleted, replaced and swapped bytes.
func editDistance(a, b string) int {
	prev2 := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
