package migrate

import (
	"context"
	"fmt"
	"slices"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

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
	case m.Finished != nil && o.Clone == nil:
		p.Done = true
		return p, nil
	}
	runs := ""
	if p.OldApp != p.NewApp {
		if err := checkIdle(ctx, c, p.OldApp); err != nil {
			return nil, err
		}
		if runs, err = p.newApplicationRuns(ctx); err != nil {
			return nil, err
		}
	}
	for i := range p.m.Topics {
		if err := p.finishTopic(ctx, &p.m.Topics[i], runs); err != nil {
			return nil, err
		}
	}
	if err := p.finishDirectories(ctx, runs); err != nil {
		return nil, err
	}
	for _, name := range o.InUse {
		if !slices.ContainsFunc(p.m.Topics, func(t CopiedTopic) bool { return t.Old == name }) && !slices.Contains(p.Directories, name) {
			return nil, op.Errorf(op.Usage, "%q is no old topic and no old directory of this migration", name).WithTry("the old names that finish keeps, as it writes them")
		}
	}
	if len(p.Kept) > 0 {
		p.Directories = []string{}
		if len(p.Topics) == 0 {
			return nil, op.Errorf(op.Precondition, "nothing proves that the new state is in use: %s: %s", p.Kept[0].Name, p.Kept[0].Why).
				WithTry("start the application on the new names, and finish when it has written to them; what it never writes to: --in-use NAME, when you know")
		}
		return p, nil
	}
	if p.Kind == ApplicationChanged {
		offsets, err := c.GroupOffsets(ctx, p.OldApp)
		if err != nil {
			return nil, err
		}
		if len(offsets) > 0 {
			p.Groups = append(p.Groups, EndTopic{p.OldApp, fmt.Sprintf("%d offsets, which %s has taken over", len(offsets), p.NewApp)})
		}
	}
	p.Done = p.m.Finished != nil && len(p.Topics)+len(p.Directories)+len(p.Groups) == 0
	return p, nil
}

// newApplicationRuns says what proves that the application runs under its new
// id, "" when nothing does: all of its internal topics are named after the id.
func (p *EndPlan) newApplicationRuns(ctx context.Context) (string, error) {
	_, members, err := p.client.Group(ctx, p.NewApp)
	if err != nil && op.KindOf(err) != op.NotFound {
		return "", err
	}
	if members > 0 {
		return fmt.Sprintf("group %s has %d members", p.NewApp, members), nil
	}
	old, err := p.client.GroupOffsets(ctx, p.OldApp)
	if err != nil {
		return "", err
	}
	was, err := mapGroup(p.m, old)
	if err != nil {
		return "", err
	}
	is, err := p.client.GroupOffsets(ctx, p.NewApp)
	if err != nil {
		return "", err
	}
	for _, o := range is {
		if i := slices.IndexFunc(was, func(w kafka.GroupOffset) bool { return w.Topic == o.Topic && w.Partition == o.Partition }); i >= 0 && o.Offset > was[i].Offset {
			return fmt.Sprintf("group %s has processed %s-%d from offset %d to %d", p.NewApp, o.Topic, o.Partition, was[i].Offset, o.Offset), nil
		}
	}
	return "", nil
}

// finishTopic decides on one old topic. runs is what proves that the
// application does not use old topics; "" when nothing does.
func (p *EndPlan) finishTopic(ctx context.Context, t *CopiedTopic, runs string) error {
	old, err := p.is(ctx, t.Old, t.OldID)
	if err != nil {
		return err
	}
	new, err := p.is(ctx, t.New, t.NewID)
	if err != nil {
		return err
	}
	if new == nil {
		return op.Errorf(op.Precondition, "the copy %q is gone, or was made anew: what is left of %q is all there is", t.New, t.Old)
	}
	if old == nil {
		return nil // gone already
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
	switch {
	case since > 0:
		p.Topics = append(p.Topics, EndTopic{t.Old, fmt.Sprintf("its copy %s was verified, and has got %d records since", t.New, since)})
	case runs != "":
		p.Topics = append(p.Topics, EndTopic{t.Old, fmt.Sprintf("its copy %s was verified, and %s", t.New, runs)})
	case slices.Contains(p.o.InUse, t.Old):
		p.Topics = append(p.Topics, EndTopic{t.Old, fmt.Sprintf("its copy %s was verified, and is said to be in use", t.New)})
	default:
		p.Kept = append(p.Kept, EndTopic{t.Old, fmt.Sprintf("nothing was written to %s since it was copied", t.New)})
	}
	return nil
}

// finishDirectories decides on this host's old directories. With topics they
// go when these do; a migration of directories alone is in use when the clones
// are.
func (p *EndPlan) finishDirectories(ctx context.Context, runs string) error {
	if p.o.Clone == nil {
		return nil
	}
	old, err := p.o.Clone.FinishList(ctx, p.m)
	if err != nil {
		return err
	}
	for _, d := range old {
		if len(p.m.Topics) == 0 && runs == "" && !d.Used && !d.Bare && !slices.Contains(p.o.InUse, d.Path) {
			p.Kept = append(p.Kept, EndTopic{d.Path, "its clone has not been opened since it was made"})
			continue
		}
		p.Directories = append(p.Directories, d.Path)
	}
	return nil
}
