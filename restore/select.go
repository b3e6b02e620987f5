package restore

import (
	"slices"
	"strconv"
	"strings"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// changelogInfo is a changelog that exists.
type changelogInfo struct {
	req        *StoreRequest
	topic      string
	partitions int
}

// has reports whether restoring the changelog fills task t; a store of unknown
// sub-topology may be of any.
func (c changelogInfo) has(t streams.TaskID) bool {
	return t.Partition >= 0 && t.Partition < c.partitions && (c.req.Subtopology == nil || *c.req.Subtopology == t.Subtopology)
}

func (p *Plan) selectPartitions(req *StoreRequest, n int) []int32 {
	var out []int32
	for i := range int32(n) {
		if req.Global {
			out = append(out, i)
			continue
		}
		if p.Options.Partitions != nil && !slices.Contains(p.Options.Partitions, i) {
			continue
		}
		if p.Options.Tasks != nil && !slices.ContainsFunc(p.Options.Tasks, func(t streams.TaskID) bool {
			return t.Partition == int(i) && (req.Subtopology == nil || *req.Subtopology == t.Subtopology)
		}) {
			continue
		}
		out = append(out, i)
	}
	return out
}

// namedSubtopology is the sub-topology that --task states for the partition of
// the only store there is.
func (p *Plan) namedSubtopology(partition int) *int {
	if len(p.Options.Stores) != 1 {
		return nil
	}
	var found *int
	for i := range p.Options.Tasks {
		if t := &p.Options.Tasks[i]; t.Partition == partition {
			if found != nil && *found != t.Subtopology {
				return nil
			}
			found = &t.Subtopology
		}
	}
	return found
}

// checkSelection refuses partitions and tasks that were asked for and do not
// exist: leaving them out silently would leave a store out.
func (p *Plan) checkSelection() error {
	var local []changelogInfo // global stores always take all partitions
	for _, c := range p.topics {
		if !c.req.Global {
			local = append(local, c)
		}
	}
	for _, want := range p.Options.Partitions {
		if !slices.ContainsFunc(local, func(c changelogInfo) bool { return want >= 0 && int(want) < c.partitions }) && len(local) > 0 {
			return op.Errorf(op.NotFound, "no changelog has a partition %d", want).WithTry("%s", existing(local))
		}
	}
	for _, want := range p.Options.Tasks {
		if !slices.ContainsFunc(local, func(c changelogInfo) bool { return c.has(want) }) && len(local) > 0 {
			return op.Errorf(op.NotFound, "no store of task %s", want).WithTry("%s", existing(local))
		}
	}
	if len(p.Tasks) == 0 && len(p.Skipped) == 0 {
		return op.Errorf(op.NotFound, "no partition is selected").WithTry("%s", existing(local))
	}
	return nil
}

// existing says what could be selected.
func existing(cs []changelogInfo) string {
	var out []string
	for _, c := range cs {
		s := "store " + c.req.Name
		if c.req.Subtopology != nil {
			s += " of sub-topology " + strconv.Itoa(*c.req.Subtopology)
		}
		out = append(out, s+" has partitions 0 to "+strconv.Itoa(c.partitions-1)+" ("+c.topic+")")
	}
	return strings.Join(out, "; ")
}
