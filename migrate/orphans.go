package migrate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// What deleting orphans does, in this order: what can be made anew first.
const (
	RemoveDirectory = "remove directory"
	RemoveLeftover  = "remove leftover"
	DropLines       = "drop lines"
	DeleteOffsets   = "delete offsets"
	DeleteGroup     = "delete group"
	DeleteTopic     = "delete topic"
)

// trash is where directories are moved before they are removed, below the state
// directory: a kill leaves a store in its place or gone from it.
const trash = ".sstool/orphans"

// OrphansOptions are exactly what is deleted, and where.
type OrphansOptions struct {
	Items     []OrphanItem
	ClusterID string
	StateDir  string
	Wait      time.Duration // for members of groups to leave
	// Still says which items may go when they are looked at once more, just
	// before; nil: all.
	Still func(ctx context.Context) ([]OrphanItem, error)
}

// OrphanItem is one thing that is deleted.
type OrphanItem struct {
	Do            string             `json:"do"`
	Name          string             `json:"name"` // the topic, the group, or the path
	ApplicationID string             `json:"application_id"`
	Owners        []string           `json:"owners"` // applications that must be stopped
	Why           string             `json:"why"`
	Bytes         *int64             `json:"size_bytes"`
	Records       *int64             `json:"records"`
	TopicID       string             `json:"topic_id"`
	Ends          map[int32]int64    `json:"ends"`
	Topic         string             `json:"topic"` // of offsets
	Partitions    []int32            `json:"partitions"`
	Lines         streams.Checkpoint `json:"-"`
	Done          bool               `json:"done"`
}

// key tells items apart.
func (i *OrphanItem) key() string { return i.Do + "\x00" + i.Name + "\x00" + i.Topic }

// OrphansPlan is what is deleted; the JSON document orphans.delete.
type OrphansPlan struct {
	ClusterID string       `json:"cluster_id"`
	StateDir  string       `json:"state_dir"`
	Items     []OrphanItem `json:"items"`
	Bytes     int64        `json:"bytes"` // as far as measured
	Warnings  []string     `json:"warnings"`
	Done      bool         `json:"done"`

	o      OrphansOptions
	client *kafka.Client
}

// PlanOrphans looks whether the items can be deleted; it changes nothing.
func PlanOrphans(ctx context.Context, c *kafka.Client, o OrphansOptions) (*OrphansPlan, error) {
	p := &OrphansPlan{StateDir: o.StateDir, Items: slices.Clone(o.Items), Warnings: []string{}, o: o, client: c}
	order := []string{RemoveDirectory, RemoveLeftover, DropLines, DeleteOffsets, DeleteGroup, DeleteTopic}
	slices.SortStableFunc(p.Items, func(a, b OrphanItem) int { return slices.Index(order, a.Do) - slices.Index(order, b.Do) })
	if c != nil {
		if err := checkCluster(ctx, c, o.ClusterID); err != nil {
			return nil, err
		}
		var err error
		if p.ClusterID, err = c.ClusterID(ctx); err != nil {
			return nil, err
		}
		if o.Wait == 0 { // else Apply waits
			if err := p.checkIdle(ctx); err != nil {
				return nil, err
			}
		}
	}
	for i := range p.Items {
		x := &p.Items[i]
		if err := p.check(x); err != nil {
			return nil, err
		}
		if x.Bytes != nil {
			p.Bytes += *x.Bytes
		}
		if x.Do == DeleteTopic && len(p.Warnings) == 0 {
			p.Warnings = append(p.Warnings, "a deleted topic cannot be had back; where an operator owns topics (a KafkaTopic resource of Strimzi), remove its resource as well: it makes the topic anew")
		}
	}
	p.Done = len(p.Items) == 0
	return p, nil
}

// owners are all applications that must be stopped.
func (p *OrphansPlan) owners() []string {
	var out []string
	for i := range p.Items {
		out = append(out, p.Items[i].Owners...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (p *OrphansPlan) checkIdle(ctx context.Context) error {
	for _, id := range p.owners() {
		if err := checkIdle(ctx, p.client, id); err != nil {
			return err
		}
	}
	return nil
}

// check refuses what lies elsewhere than it should.
func (p *OrphansPlan) check(x *OrphanItem) error {
	switch x.Do {
	case DeleteTopic, DeleteOffsets, DeleteGroup:
		if p.client == nil {
			return op.Errorf(op.Usage, "%s %s: no cluster", x.Do, x.Name)
		}
		return nil
	case RemoveDirectory, RemoveLeftover, DropLines:
	default:
		return op.Errorf(op.Failed, "%q is nothing that can be done", x.Do)
	}
	rel, err := filepath.Rel(p.StateDir, x.Name)
	if err != nil || p.StateDir == "" || rel == "." || strings.HasPrefix(rel, "..") {
		return op.Errorf(op.Failed, "%s does not lie in the state directory %q", x.Name, p.StateDir)
	}
	if app, _, _ := strings.Cut(rel, string(filepath.Separator)); x.Do != RemoveLeftover && app != x.ApplicationID {
		return op.Errorf(op.Failed, "%s does not lie in the directory of application %q", x.Name, x.ApplicationID)
	}
	if x.Do == RemoveLeftover && rel != trash {
		return op.Errorf(op.Failed, "%s is not %s", x.Name, filepath.Join(p.StateDir, trash))
	}
	if x.Do != RemoveDirectory || !files.Exists(x.Name) {
		return nil
	}
	same, err := files.SameFileSystem(x.Name, filepath.Join(p.StateDir, trash))
	if err == nil && !same {
		return op.Errorf(op.Precondition, "%s lies on another file system than the state directory, so that it cannot be moved away at once", x.Name).WithTry("stop the application, and remove it by hand")
	}
	return err
}

// Steps are what Apply does, for people.
func (p *OrphansPlan) Steps() []string {
	var out []string
	for _, id := range p.lockedApps() {
		out = append(out, "hold the lock of "+filepath.Join(p.StateDir, id))
	}
	for i := range p.Items {
		out = append(out, p.Items[i].step())
	}
	return out
}

func (x *OrphanItem) step() string {
	switch x.Do {
	case DropLines:
		return fmt.Sprintf("drop %d lines of %s: %s", len(x.Lines), x.Name, x.Why)
	case DeleteOffsets:
		return fmt.Sprintf("delete the committed offsets of group %s for %d partitions of %s, cannot be undone: %s", x.ApplicationID, len(x.Partitions), x.Topic, x.Why)
	case DeleteGroup:
		return fmt.Sprintf("delete group %s, cannot be undone: %s", x.Name, x.Why)
	case DeleteTopic:
		held := ""
		if x.Records != nil {
			held = fmt.Sprintf(" (%d offsets)", *x.Records)
		}
		return fmt.Sprintf("delete topic %s%s, cannot be undone: %s", x.Name, held, x.Why)
	}
	return fmt.Sprintf("remove %s: %s", x.Name, x.Why)
}

// lockedApps are the applications whose directories are changed.
func (p *OrphansPlan) lockedApps() []string {
	var out []string
	for i := range p.Items {
		x := &p.Items[i]
		if (x.Do == RemoveDirectory || x.Do == DropLines) && !slices.Contains(out, x.ApplicationID) && files.Exists(filepath.Join(p.StateDir, x.ApplicationID)) {
			out = append(out, x.ApplicationID)
		}
	}
	return out
}

// recheck looks once more whether everything may go: nobody uses it since, and
// topics are the same ones and have not grown.
func (p *OrphansPlan) recheck(ctx context.Context) error {
	if p.client != nil {
		if err := p.checkIdle(ctx); err != nil {
			return err
		}
	}
	if p.o.Still != nil {
		now, err := p.o.Still(ctx)
		if err != nil {
			return err
		}
		for i := range p.Items {
			x := &p.Items[i]
			if slices.ContainsFunc(now, func(n OrphanItem) bool { return n.key() == x.key() }) {
				continue
			}
			gone, err := p.gone(ctx, x)
			if err != nil {
				return err
			}
			if !gone {
				return op.Errorf(op.Precondition, "%s may no longer go: things have changed since this was planned", x.Name).WithTry("run it again")
			}
		}
	}
	for i := range p.Items {
		if x := &p.Items[i]; x.Do == DeleteTopic {
			if _, err := p.sameTopic(ctx, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// gone says whether there is nothing to delete any more: brokers list a topic
// for a moment after it was deleted.
func (p *OrphansPlan) gone(ctx context.Context, x *OrphanItem) (bool, error) {
	switch x.Do {
	case DeleteTopic:
		there, err := p.sameTopic(ctx, x)
		return err == nil && !there, err
	case DeleteOffsets:
		left, err := p.client.GroupOffsets(ctx, x.ApplicationID)
		return err == nil && !slices.ContainsFunc(left, func(o kafka.GroupOffset) bool {
			return o.Topic == x.Topic && slices.Contains(x.Partitions, o.Partition)
		}), err
	case DeleteGroup:
		_, _, err := p.client.Group(ctx, x.Name)
		if op.KindOf(err) == op.NotFound {
			return true, nil
		}
		return false, err
	}
	return !files.Exists(x.Name), nil
}

// sameTopic says whether the topic is there still; one that was made anew, or
// has got records, is refused.
func (p *OrphansPlan) sameTopic(ctx context.Context, x *OrphanItem) (there bool, err error) {
	t, err := p.client.Topic(ctx, x.Name)
	if op.KindOf(err) == op.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if id := idOf(t); x.TopicID != "" && id != x.TopicID {
		return false, op.Errorf(op.Precondition, "topic %q was made anew since it was looked at", x.Name).WithTry("run it again")
	}
	if x.Ends == nil {
		return true, nil
	}
	ends, err := p.client.Offsets(ctx, x.Name, nil)
	if err != nil {
		return false, err
	}
	for part, end := range x.Ends {
		if now := ends[part].End; now != end {
			return false, op.Errorf(op.Precondition, "%s-%d ends at %d, not at %d: somebody has written to it since it was looked at", x.Name, part, now, end).
				WithTry("see who writes to it; it is in use")
		}
	}
	return true, nil
}

// removeTrash removes what was moved away, and the directories made for it.
func (p *OrphansPlan) removeTrash() error {
	if err := os.RemoveAll(filepath.Join(p.StateDir, trash)); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(p.StateDir, filepath.Dir(trash))) // when it is empty
	return nil
}

// AddLine adds a line of a .checkpoint that is dropped.
func (x *OrphanItem) AddLine(at streams.TopicPartition, offset int64) {
	if x.Lines == nil {
		x.Lines = streams.Checkpoint{}
	}
	x.Lines[at] = offset
}
