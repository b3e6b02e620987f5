package migrate

import (
	"context"
	"fmt"
	"slices"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

// PlanAbort looks for what a migration has made; it changes nothing. State that
// is in use already is not removed.
func PlanAbort(ctx context.Context, c *kafka.Client, o EndOptions) (*EndPlan, error) {
	p, err := planEnd(ctx, c, "abort", o)
	if err != nil {
		return nil, err
	}
	if p.m.Finished != nil {
		return nil, op.Errorf(op.Precondition, "this migration was finished: the old topics are gone, the new ones are all there is")
	}
	for _, app := range slices.Compact([]string{p.OldApp, p.NewApp}) {
		if err := checkIdle(ctx, c, app); err != nil {
			return nil, err
		}
	}
	if o.Clone != nil {
		if p.Directories, err = o.Clone.UndoList(ctx, p.m); err != nil {
			return nil, err
		}
	}
	if p.m.Aborted != nil {
		p.Done = len(p.Directories) == 0
		return p, nil
	}
	for i := range p.m.Topics {
		if err := p.abortTopic(ctx, &p.m.Topics[i]); err != nil {
			return nil, err
		}
	}
	for _, a := range p.m.ACLs {
		p.ACLs = append(p.ACLs, a.String())
	}
	if p.m.done(groupStep) {
		p.Groups = append(p.Groups, EndTopic{p.NewApp, "they were committed by the migration"})
	}
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
