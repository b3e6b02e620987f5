package migrate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

// EndOptions say which migration is ended, and where.
type EndOptions struct {
	File      string
	ClusterID string
	Clone     Cloner // of the state directory whose old, or new, directories go as well; nil: none
	StateDir  string
}

// EndPlan is what finishing or aborting a migration would remove: exact names,
// each with what proves that it may go.
type EndPlan struct {
	Action      string     `json:"action"` // finish, abort
	Kind        string     `json:"migration"`
	ID          string     `json:"id"`
	File        string     `json:"migration_file"`
	ClusterID   string     `json:"cluster_id"`
	OldApp      string     `json:"old_application_id"`
	NewApp      string     `json:"new_application_id"`
	Topics      []EndTopic `json:"topics"`      // to be deleted
	Kept        []EndTopic `json:"kept"`        // not to be deleted yet, and why
	Directories []string   `json:"directories"` // to be removed
	Warnings    []string   `json:"warnings"`
	Done        bool       `json:"done"`

	o      EndOptions
	client *kafka.Client
	m      *Migration
}

// EndTopic is a topic and why it may go, or not.
type EndTopic struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// PlanFinish looks for the proof that the new state is in use; what is proven
// may have its old topic deleted. It changes nothing.
func PlanFinish(ctx context.Context, c *kafka.Client, o EndOptions) (*EndPlan, error) {
	p, err := planEnd(ctx, c, "finish", o)
	if err != nil {
		return nil, err
	}
	switch m := p.m; {
	case m.Aborted != nil:
		return nil, op.Errorf(op.Precondition, "this migration was aborted: there is nothing to finish")
	case m.Completed == nil:
		return nil, op.Errorf(op.Precondition, "this migration is not complete").WithTry("run it again for the rest, or sstool migrate abort %s", o.File)
	case m.Finished != nil:
		p.Done = true
		return p, nil
	}
	if p.OldApp != p.NewApp {
		if err := checkIdle(ctx, c, p.OldApp); err != nil {
			return nil, err
		}
	}
	for i := range p.m.Topics {
		if err := p.finishTopic(ctx, &p.m.Topics[i]); err != nil {
			return nil, err
		}
	}
	if len(p.Kept) == 0 && o.Clone != nil {
		if p.Directories, err = o.Clone.FinishList(ctx, p.m); err != nil {
			return nil, err
		}
	}
	if len(p.Topics) == 0 && len(p.Kept) > 0 {
		return nil, op.Errorf(op.Precondition, "nothing proves that the new state is in use: %s: %s", p.Kept[0].Name, p.Kept[0].Why).
			WithTry("start the application on the new names, and finish when it has written to them")
	}
	return p, nil
}

func planEnd(ctx context.Context, c *kafka.Client, action string, o EndOptions) (*EndPlan, error) {
	m, err := ReadMigration(o.File)
	if err != nil {
		return nil, err
	}
	p := &EndPlan{Action: action, Kind: m.Kind, ID: m.ID, File: o.File, ClusterID: m.ClusterID, OldApp: m.OldApp, NewApp: m.NewApp,
		Topics: []EndTopic{}, Kept: []EndTopic{}, Directories: []string{}, Warnings: []string{}, o: o, client: c, m: m}
	for _, want := range []string{o.ClusterID, m.ClusterID} {
		if err := checkCluster(ctx, c, want); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// finishTopic decides on one old topic.
func (p *EndPlan) finishTopic(ctx context.Context, t *CopiedTopic) error {
	old, err := p.is(ctx, t.Old, t.OldID)
	if err != nil || old == nil {
		return err // gone already
	}
	new, err := p.is(ctx, t.New, t.NewID)
	if err != nil {
		return err
	}
	if new == nil {
		return op.Errorf(op.Precondition, "the copy %q is gone, or was made anew: %q is all there is", t.New, t.Old)
	}
	ends, err := p.client.Offsets(ctx, t.Old, nil)
	if err != nil {
		return err
	}
	grown, err := p.client.Offsets(ctx, t.New, nil)
	if err != nil {
		return err
	}
	var since int64
	for i := range t.Partitions {
		cp := &t.Partitions[i]
		oldEnd, newEnd := cp.Map.End()
		if end := ends[cp.Partition].End; end != oldEnd {
			return op.Errorf(op.Precondition, "%s-%d was written to since it was copied (%d offsets): the application has run under the old name", t.Old, cp.Partition, end-oldEnd).
				WithTry("find out which state is the right one; nothing was changed")
		}
		since += grown[cp.Partition].End - newEnd
	}
	if since > 0 {
		p.Topics = append(p.Topics, EndTopic{t.Old, fmt.Sprintf("its copy %s was verified, and has got %d records since", t.New, since)})
		return nil
	}
	p.Kept = append(p.Kept, EndTopic{t.Old, fmt.Sprintf("nothing was written to %s since it was copied", t.New)})
	return nil
}

// is looks a topic up; nil when it is gone, or another one of the same name.
func (p *EndPlan) is(ctx context.Context, name, id string) (*kafka.TopicInfo, error) {
	info, err := p.client.Topic(ctx, name)
	if err != nil {
		if op.KindOf(err) == op.NotFound {
			return nil, nil
		}
		return nil, err
	}
	if id != topicID(info.ID) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("topic %s is another one than the migration's, made anew since: it is left alone", name))
		return nil, nil
	}
	return info, nil
}

// PlanAbort looks for what a migration has made; it changes nothing. State that
// is in use already is not removed.
func PlanAbort(ctx context.Context, c *kafka.Client, o EndOptions) (*EndPlan, error) {
	p, err := planEnd(ctx, c, "abort", o)
	if err != nil {
		return nil, err
	}
	switch m := p.m; {
	case m.Finished != nil:
		return nil, op.Errorf(op.Precondition, "this migration was finished: the old topics are gone, the new ones are all there is")
	case m.Aborted != nil:
		p.Done = true
		return p, nil
	}
	for _, app := range slices.Compact([]string{p.OldApp, p.NewApp}) {
		if err := checkIdle(ctx, c, app); err != nil {
			return nil, err
		}
	}
	for i := range p.m.Topics {
		if err := p.abortTopic(ctx, &p.m.Topics[i]); err != nil {
			return nil, err
		}
	}
	for id := range p.m.Done {
		if len(id) > 5 && id[:5] == "acls:" {
			p.Warnings = append(p.Warnings, "the ACLs that were copied for "+id[5:]+" stay")
		}
	}
	slices.Sort(p.Warnings)
	if p.m.done("clone") && o.Clone == nil {
		p.Warnings = append(p.Warnings, "directories were cloned: --state-dir DIR removes the clones as well")
	}
	return p, nil
}

// abortTopic decides on one new topic.
func (p *EndPlan) abortTopic(ctx context.Context, t *CopiedTopic) error {
	if t.NewID == "" {
		// Made and not noted, or not made.
		info, err := p.client.Topic(ctx, t.New)
		if err != nil {
			if op.KindOf(err) == op.NotFound {
				return nil
			}
			return err
		}
		ends, err := p.client.Offsets(ctx, t.New, nil)
		if err != nil {
			return err
		}
		if written(ends) {
			p.Warnings = append(p.Warnings, fmt.Sprintf("topic %s exists, and the migration has not noted that it made it: it is left alone", t.New))
			return nil
		}
		t.NewID = topicID(info.ID)
	}
	if info, err := p.is(ctx, t.New, t.NewID); info == nil || err != nil {
		return err
	}
	ends, err := p.client.Offsets(ctx, t.New, nil)
	if err != nil {
		return err
	}
	var records int64
	for i := range t.Partitions {
		cp := &t.Partitions[i]
		_, newEnd := cp.Map.End()
		end := ends[cp.Partition].End
		records += end
		if p.m.done("verify:"+t.New) && end > newEnd {
			return op.Errorf(op.Precondition, "%s-%d has got %d records since it was copied: the application uses it", t.New, cp.Partition, end-newEnd).
				WithTry("they would be lost; sstool migrate finish %s removes the old topics instead", p.File)
		}
	}
	p.Topics = append(p.Topics, EndTopic{t.New, fmt.Sprintf("a copy of %s, %d records", t.Old, records)})
	return nil
}

// Steps are what Apply does, for people.
func (p *EndPlan) Steps() []string {
	out := []string{}
	for _, d := range p.Directories {
		out = append(out, "remove "+d)
	}
	if p.Action == "abort" && p.o.Clone != nil {
		out = append(out, "remove the clones that the migration made below "+p.o.StateDir)
	}
	if p.Action == "abort" && p.m.done(groupStep) {
		out = append(out, "delete group "+p.NewApp+": its offsets were committed by the migration")
	}
	for _, t := range p.Topics {
		out = append(out, fmt.Sprintf("delete topic %s: %s", t.Name, t.Why))
	}
	return out
}

// Apply removes what the plan names. Whatever has happened since is looked at
// once more. A second run does the rest.
func (p *EndPlan) Apply(ctx context.Context, sink op.Sink) (*EndPlan, error) {
	if p.Done {
		return p, nil
	}
	led, _, err := openLedger[Migration](p.File)
	if err != nil {
		return nil, err
	}
	defer led.close()
	plan := PlanFinish
	if p.Action == "abort" {
		plan = PlanAbort
	}
	now, err := plan(ctx, p.client, p.o)
	if err != nil {
		return nil, err
	}
	for _, t := range p.Topics {
		if !slices.ContainsFunc(now.Topics, func(n EndTopic) bool { return n.Name == t.Name }) && !now.Done {
			return nil, op.Errorf(op.Precondition, "topic %q may no longer go: things have changed since this was planned", t.Name).WithTry("run it again")
		}
	}
	if p.o.Clone != nil && len(p.Kept) == 0 {
		if p.Action == "abort" {
			err = p.o.Clone.Undo(ctx, p.m, sink)
		} else {
			_, err = p.o.Clone.Finish(ctx, p.m, sink)
		}
		if err != nil {
			return nil, err
		}
	}
	if p.Action == "abort" && p.m.done(groupStep) {
		if err := p.client.DeleteGroup(ctx, p.NewApp); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, t := range p.Topics {
		names = append(names, t.Name)
	}
	if err := p.client.DeleteTopics(ctx, names...); err != nil {
		return nil, err
	}
	for _, n := range names {
		sink.Emit(op.Event{Type: op.Item, Name: n, Message: "deleted"})
	}
	end := time.Now().UTC().Truncate(time.Second)
	switch {
	case p.Action == "abort":
		p.m.Aborted = &end
	case len(p.Kept) == 0:
		p.m.Finished = &end
	}
	led.State = *p.m
	if err := led.save(); err != nil {
		return nil, err
	}
	p.Done = len(p.Kept) == 0
	return p, nil
}
