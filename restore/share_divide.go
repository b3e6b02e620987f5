package restore

import (
	"cmp"
	"slices"

	"sstool/internal/kafka"
)

// shareTask is a task as workers divide it.
type shareTask struct {
	kafka.GroupTask
	weight int64 // bytes to replay
	plan   *TaskPlan
	local  bool // not divided: every worker has its own
	stats  map[kafka.GroupPartition]Counts
	at     int64 // when it was completed here, in ms since 1970
}

// dividing is a worker while tasks are divided.
type dividing struct {
	shareMember
	id    string
	owned []string
}

// stands reports whether a completion counts without a worker that vouches for
// it: it does when its run was finished, so that its directory may have been
// handed over, unless it is gone.
func stands(r shareRecord, members []dividing) bool {
	return r.complete() && r.Ended && !gone(r, members)
}

// gone reports whether a worker at the place of a completion has it no longer,
// or its host was declared lost.
func gone(r shareRecord, members []dividing) bool {
	return slices.ContainsFunc(members, func(m dividing) bool {
		return m.place == r.place && !slices.Contains(m.Held, r.Task) || slices.Contains(m.Lost, r.Host)
	})
}

// divide gives every task to one worker: to one that holds it, else to one that
// works on it, so that no work is lost while a worker lives; the rest by size,
// the largest first, to whoever has the least. A task whose completion stands
// goes to nobody.
func divide(tasks []*shareTask, records map[string]shareRecord, members []dividing) map[string][]string {
	out := map[string][]string{}
	if len(members) == 0 {
		return out
	}
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b dividing) int { return cmp.Compare(a.id, b.id) })
	load := make([]int64, len(members))
	give := func(i int, t *shareTask, weight int64) {
		out[members[i].id] = append(out[members[i].id], t.Name)
		load[i] += weight
	}
	// best is the first member for whom list has the task, its owner if possible.
	best := func(t *shareTask, list func(*dividing) []string) int {
		found := -1
		for i := range members {
			m := &members[i]
			if !slices.Contains(list(m), t.Name) {
				continue
			}
			if slices.Contains(m.owned, t.Name) {
				return i
			}
			if found < 0 {
				found = i
			}
		}
		return found
	}
	var rest []*shareTask
	for _, t := range tasks {
		if i := best(t, func(m *dividing) []string { return m.Held }); i >= 0 {
			give(i, t, 0)
			continue
		}
		if r, ok := records[t.Name]; ok && stands(r, members) {
			continue
		}
		if i := best(t, func(m *dividing) []string { return m.Working }); i >= 0 {
			give(i, t, t.weight)
			continue
		}
		rest = append(rest, t)
	}
	slices.SortStableFunc(rest, func(a, b *shareTask) int { return cmp.Compare(b.weight, a.weight) })
	for _, t := range rest {
		least := 0
		for i := range members {
			switch {
			case load[i] < load[least]:
				least = i
			case load[i] == load[least] && slices.Contains(members[i].owned, t.Name):
				least = i // it moves for nothing otherwise
			}
		}
		give(least, t, t.weight)
	}
	return out
}
