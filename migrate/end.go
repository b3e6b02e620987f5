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
	// InUse are names that nothing proves to be out of use, and of which the user
	// says so: as EndPlan.Kept has them. For finish.
	InUse []string
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
	Kept        []EndTopic `json:"kept"`        // not to be deleted yet, and why; directories as well
	Directories []string   `json:"directories"` // to be removed
	Groups      []EndTopic `json:"groups"`      // to be deleted, with their committed offsets
	ACLs        []string   `json:"acls"`        // to be deleted
	Warnings    []string   `json:"warnings"`
	Done        bool       `json:"done"`

	o      EndOptions
	client *kafka.Client
	m      *Migration
}

// EndTopic is a topic, or what else has a name, and why it may go, or not.
type EndTopic struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

func planEnd(ctx context.Context, c *kafka.Client, action string, o EndOptions) (*EndPlan, error) {
	m, err := ReadMigration(o.File)
	if err != nil {
		return nil, err
	}
	p := &EndPlan{Action: action, Kind: m.Kind, ID: m.ID, File: o.File, ClusterID: m.ClusterID, OldApp: m.OldApp, NewApp: m.NewApp,
		Topics: []EndTopic{}, Kept: []EndTopic{}, Directories: []string{}, Groups: []EndTopic{}, ACLs: []string{}, Warnings: []string{}, o: o, client: c, m: m}
	for _, want := range []string{o.ClusterID, m.ClusterID} {
		if err := checkCluster(ctx, c, want); err != nil {
			return nil, err
		}
	}
	return p, nil
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

// Steps are what Apply does, for people.
func (p *EndPlan) Steps() []string {
	out := []string{}
	for _, d := range p.Directories {
		out = append(out, "remove "+d)
	}
	for _, a := range p.ACLs {
		out = append(out, "delete the ACL: "+a)
	}
	for _, g := range p.Groups {
		out = append(out, fmt.Sprintf("delete group %s with its committed offsets: %s", g.Name, g.Why))
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
	if err := p.removeDirectories(ctx, sink); err != nil {
		return nil, err
	}
	for _, g := range p.Groups {
		if err := p.client.DeleteGroup(ctx, g.Name); err != nil {
			return nil, err
		}
		sink.Emit(op.Event{Type: op.Item, Name: g.Name, Message: "deleted"})
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
	if p.Action == "abort" {
		// Last: they gave access to what is gone now.
		if err := p.client.DeleteACLs(ctx, p.m.ACLs); err != nil {
			return nil, err
		}
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

// removeDirectories removes the clones, or what they were cloned from.
func (p *EndPlan) removeDirectories(ctx context.Context, sink op.Sink) error {
	switch {
	case p.o.Clone == nil || len(p.Kept) > 0:
		return nil
	case p.Action == "abort":
		return p.o.Clone.Undo(ctx, p.m, sink)
	}
	_, err := p.o.Clone.Finish(ctx, p.m, sink)
	return err
}
