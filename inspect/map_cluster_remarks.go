package inspect

import (
	"fmt"
	"strings"
)

// lagRemarks are about a store's offset against its changelog.
func lagRemarks(s *MapStore) []Remark {
	l := s.Cluster
	if l.Topic == "" {
		return nil
	}
	absent := strings.HasPrefix(l.Why, "the cluster has no topic")
	switch {
	case absent && len(s.Offsets.List) == 0: // the name is what it would be
		return []Remark{{Note, l.Why + ", and no offset on disk is of one: the store is not logged, or its changelog is gone", "", ""}}
	case absent:
		return []Remark{{Warning, "orphaned: " + l.Why + ", nothing can restore the store", "", "check the cluster; remove the store if its topology no longer has it"}}
	case l.Partitions != nil && len(l.Ends) == 0 && strings.HasSuffix(l.Why, "none for this task"):
		return []Remark{{Warning, "stray task: " + l.Why, "", "its partition is gone: Kafka Streams never assigns the task"}}
	}
	var out []Remark
	for _, e := range l.Ends {
		next, ok := s.Offsets.next(e.Partition)
		switch at := fmt.Sprintf("%s-%d", l.Topic, e.Partition); {
		case !ok:
		case next > e.End:
			out = append(out, Remark{Problem, fmt.Sprintf("the offset is beyond the end of %s (%d > %d): the topic was made anew, or it is another cluster; Kafka Streams restores the task from the start (under exactly-once it wipes it first)", at, next, e.End), "",
				"check the cluster id; the store cannot be resumed from here"})
		case next < e.Start:
			out = append(out, Remark{Problem, fmt.Sprintf("the offset is %d before the start of %s: records were deleted or compacted away meanwhile; Kafka Streams restores the task from the start (under exactly-once it wipes it first)", e.Start-next, at), "",
				"plan for a restore from the changelog"})
		}
	}
	return out
}

// foreignOffsets finds an application whose offsets all lie outside of the
// topics: one remark says more than one per partition.
func foreignOffsets(a *MapApp) (Remark, bool) {
	outside, all := 0, 0
	for i := range a.Stores {
		s := &a.Stores[i]
		if s.Cluster == nil {
			continue
		}
		for _, e := range s.Cluster.Ends {
			next, ok := s.Offsets.next(e.Partition)
			if !ok {
				continue
			}
			all++
			if next > e.End || next < e.Start {
				outside++
			}
		}
	}
	if all < 2 || outside < all {
		return Remark{}, false
	}
	return Remark{Problem, fmt.Sprintf("none of %d offsets fits this cluster: it is not the cluster the state is of, or its topics were made anew", all), a.Dir,
		"check --bootstrap-server and the cluster id before the application starts: it would wipe this state, or replay over it"}, true
}

// compareStrings compares pairs in turn.
func compareStrings(pairs ...string) int {
	for i := 0; i+1 < len(pairs); i += 2 {
		if n := strings.Compare(pairs[i], pairs[i+1]); n != 0 {
			return n
		}
	}
	return 0
}
