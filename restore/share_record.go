package restore

import (
	"encoding/json"
	"fmt"
	"time"

	"sstool/internal/kafka"
)

// shareFormat is the version of what workers write into their group.
const shareFormat = 1

// What a worker says of a task in the group.
const (
	shareWaiting   = "waiting"
	shareRestoring = "restoring"
	shareComplete  = "complete"
)

// place is where a worker restores to: a worker that comes back is known by it.
type place struct {
	Host string `json:"host"`
	Into string `json:"into"`
}

// shareRecord is the metadata of a committed offset: what a worker says of one
// changelog partition, and so of the task that it belongs to.
type shareRecord struct {
	Format int    `json:"sstool"`
	App    string `json:"app"`
	Task   string `json:"task"`
	Store  string `json:"store"`
	State  string `json:"state"`
	Final  bool   `json:"final,omitempty"` // complete when every task was
	Ended  bool   `json:"ended,omitempty"` // final when every task was: the run is finished
	Kept   bool   `json:"kept,omitempty"`  // it was there: --skip-existing
	place
	Run     string    `json:"run"` // of the process
	Records int64     `json:"records"`
	Bytes   int64     `json:"bytes"`
	At      time.Time `json:"at"`
}

func (r *shareRecord) complete() bool { return r.State == shareComplete }

// parseShareRecord reads a committed offset's metadata; it is an error when
// that is nothing of ours.
func parseShareRecord(s string) (r shareRecord, err error) {
	if err = json.Unmarshal([]byte(s), &r); err != nil {
		return r, err
	}
	switch {
	case r.Format != shareFormat:
		return r, fmt.Errorf("format %d, known is %d", r.Format, shareFormat)
	case r.App == "" || r.Task == "" || r.Run == "":
		return r, fmt.Errorf("a record without application, task or run")
	case r.State != shareWaiting && r.State != shareRestoring && r.State != shareComplete:
		return r, fmt.Errorf("unknown state %q", r.State)
	}
	return r, nil
}

// shareMember is what a worker tells the one that divides.
type shareMember struct {
	Format int `json:"sstool"`
	place
	Run     string   `json:"run"`
	Held    []string `json:"held"`    // tasks that are complete in its directory now
	Working []string `json:"working"` // tasks that it restores now
	Lost    []string `json:"lost,omitempty"`
	Asks    int      `json:"asks"` // how often it had nothing left and asked for more
}

// parseShareMember reads a member's data; of a member that is not of ours it is
// an error.
func parseShareMember(data []byte) (m shareMember, err error) {
	if err = json.Unmarshal(data, &m); err == nil && m.Format != shareFormat {
		err = fmt.Errorf("format %d, known is %d", m.Format, shareFormat)
	}
	return m, err
}

// offsetRecord is a committed offset with what it says.
type offsetRecord struct {
	kafka.GroupOffset
	shareRecord
}

// taskRecords puts together what is said of each task: what all its partitions
// agree on. A task of which they do not agree, or not all are there, is left out.
func taskRecords(tasks []*shareTask, offsets map[kafka.GroupPartition]offsetRecord) map[string]shareRecord {
	out := map[string]shareRecord{}
	for _, t := range tasks {
		var sum shareRecord
		agree := len(t.Partitions) > 0
		for i, p := range t.Partitions {
			o, ok := offsets[p]
			r := o.shareRecord
			switch {
			case !ok || r.Task != t.Name:
				agree = false
			case i == 0:
				sum = r
			default:
				agree = agree && r.Run == sum.Run && r.State == sum.State && r.Final == sum.Final && r.place == sum.place
				sum.Records, sum.Bytes, sum.Kept = sum.Records+r.Records, sum.Bytes+r.Bytes, sum.Kept && r.Kept
				sum.Ended = sum.Ended && r.Ended
			}
		}
		if agree {
			out[t.Name] = sum
		}
	}
	return out
}
