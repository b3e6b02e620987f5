package restore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// What ShareStatus says of a task beyond what workers say: complete with a
// worker that does not vouch for it, or with nobody at work on it.
const shareUnconfirmed = "unconfirmed"

// ShareStatus is what a group knows of a shared restore; it is a JSON document.
type ShareStatus struct {
	Group         string        `json:"group"`
	ApplicationID string        `json:"application_id"`
	ClusterID     string        `json:"cluster_id"`
	GroupState    string        `json:"group_state"` // as Kafka calls it
	Finished      bool          `json:"finished"`    // every task is complete
	Complete      int           `json:"complete_tasks"`
	Records       int64         `json:"records"`
	Bytes         int64         `json:"bytes"`
	Workers       []ShareWorker `json:"workers"`
	Tasks         []ShareTask   `json:"tasks"`
}

// ShareWorker is a member of the group, now.
type ShareWorker struct {
	place
	Run       string `json:"run"`
	Held      int    `json:"complete_tasks"` // when it last joined
	Restoring int    `json:"restoring_tasks"`
}

// ShareTask is one task. Its state is waiting, restoring, complete, or
// unconfirmed: completed by a worker that is not in the group, in a run that
// was not finished.
type ShareTask struct {
	Task  string `json:"task"`
	State string `json:"state"`
	// Confirmed says why complete counts: "worker", which is in the group, or
	// "run", which was finished.
	Confirmed string `json:"confirmed_by"`
	place
	Run        string           `json:"run"`
	Kept       bool             `json:"kept"` // it was there: --skip-existing
	At         time.Time        `json:"at"`
	Partitions []SharePartition `json:"partitions"`
}

// SharePartition is one changelog partition of a task. Records and bytes are
// those of the replay.
type SharePartition struct {
	Store     string `json:"store"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	EndOffset int64  `json:"end_offset"` // of a task that is not complete where its replay begins
	Records   int64  `json:"records"`
	Bytes     int64  `json:"bytes"`
}

// ReadShareStatus asks the group; nothing else is needed.
func ReadShareStatus(ctx context.Context, client *kafka.Client, group string) (*ShareStatus, error) {
	offsets, err := readShare(ctx, client, group)
	if err != nil {
		return nil, err
	}
	st := &ShareStatus{Group: group, Workers: []ShareWorker{}, Tasks: []ShareTask{}}
	var members []kafka.GroupMember
	st.GroupState, members, err = client.GroupMembers(ctx, group)
	if err != nil && (op.KindOf(err) != op.NotFound || len(offsets) == 0) {
		return nil, err
	}
	if st.ClusterID, err = client.ClusterID(ctx); err != nil {
		return nil, err
	}
	var workers []dividing
	for _, m := range members {
		x, err := parseShareMember(m.Data)
		if err != nil {
			if len(m.Data) == 0 {
				continue // the group divides: brokers do not tell
			}
			return nil, op.Errorf(op.Precondition, "group %q has a member that is no worker of a shared restore: %w", group, err)
		}
		workers = append(workers, dividing{shareMember: x, id: m.ID})
		st.Workers = append(st.Workers, ShareWorker{x.place, x.Run, len(x.Held), len(x.Working)})
	}
	slices.SortFunc(st.Workers, func(a, b ShareWorker) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Into, b.Into)) })
	st.addTasks(offsets, workers)
	return st, nil
}

func (st *ShareStatus) addTasks(offsets map[kafka.GroupPartition]offsetRecord, workers []dividing) {
	byName := map[string]*shareTask{}
	for at, o := range offsets {
		st.ApplicationID = o.App
		t := byName[o.Task]
		if t == nil {
			t = &shareTask{GroupTask: kafka.GroupTask{Name: o.Task}}
			byName[o.Task] = t
		}
		t.Partitions = append(t.Partitions, at)
	}
	var tasks []*shareTask
	for _, t := range byName {
		slices.SortFunc(t.Partitions, func(a, b kafka.GroupPartition) int {
			return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
		})
		tasks = append(tasks, t)
	}
	slices.SortFunc(tasks, func(a, b *shareTask) int { return compareTasks(a.Name, b.Name) })
	records := taskRecords(tasks, offsets)
	st.Finished = len(tasks) > 0
	for _, t := range tasks {
		r, ok := records[t.Name]
		x := ShareTask{Task: t.Name, place: r.place, Run: r.Run, Kept: r.Kept, At: r.At}
		x.State, x.Confirmed = judge(r, ok, workers)
		for _, p := range t.Partitions {
			o := offsets[p]
			x.Partitions = append(x.Partitions, SharePartition{o.Store, p.Topic, p.Partition, o.Offset, o.Records, o.Bytes})
			st.Records, st.Bytes = st.Records+o.Records, st.Bytes+o.Bytes
		}
		if x.State == shareComplete {
			st.Complete++
		}
		st.Finished = st.Finished && x.State == shareComplete
		st.Tasks = append(st.Tasks, x)
	}
}

// judge says what a record is worth, with these workers in the group.
func judge(r shareRecord, ok bool, workers []dividing) (state, confirmed string) {
	for _, w := range workers {
		if ok && (w.Run == r.Run || w.place == r.place && slices.Contains(w.Held, r.Task)) {
			if r.complete() {
				return shareComplete, "worker"
			}
			return r.State, ""
		}
	}
	switch {
	case ok && stands(r, workers):
		return shareComplete, "run"
	case ok && r.complete():
		return shareUnconfirmed, ""
	}
	return shareWaiting, "" // whoever worked on it is gone
}

// compareTasks orders task names by sub-topology and partition.
func compareTasks(a, b string) int {
	x, errA := streams.ParseTaskID(a)
	y, errB := streams.ParseTaskID(b)
	if errA != nil || errB != nil {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(x.Subtopology, y.Subtopology), cmp.Compare(x.Partition, y.Partition))
}
