package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sstool/internal/applock"
	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// Apply deletes what the plan names, holding the locks of the applications'
// directories, after a second look at everything. Each item is deleted or as it
// was whenever the run ends; another run deletes the rest.
func (p *OrphansPlan) Apply(ctx context.Context, sink op.Sink) (*OrphansPlan, error) {
	if p.Done {
		return p, nil
	}
	if p.client != nil && p.o.Wait > 0 {
		for _, id := range p.owners() {
			if err := waitIdle(ctx, p.client, id, p.o.Wait, sink); err != nil {
				return nil, err
			}
		}
	}
	for _, id := range p.lockedApps() {
		lock, err := applock.Hold(filepath.Join(p.StateDir, id))
		if err != nil {
			return nil, err
		}
		defer lock.Release()
	}
	if err := p.recheck(ctx); err != nil {
		return nil, err
	}
	sink.Emit(op.Event{Type: op.Phase, Name: "delete"})
	for i := range p.Items {
		x := &p.Items[i]
		if err := ctx.Err(); err != nil {
			return p, &op.Error{Kind: op.Declined, What: "delete orphans", Err: fmt.Errorf("interrupted; %d of %d are deleted, the others are as they were: %w", i, len(p.Items), err), Try: "run it again for the rest"}
		}
		if err := p.delete(ctx, x); err != nil {
			return p, &op.Error{Kind: op.KindOf(err), What: x.Do + " " + x.Name, Err: err, Try: "run it again for the rest, when this is cured"}
		}
		x.Done = true
		sink.Emit(op.Event{Type: op.Item, Name: x.Name, Message: x.Do})
	}
	if p.StateDir != "" {
		if err := p.removeTrash(); err != nil {
			return p, err
		}
	}
	p.Done = true
	return p, nil
}

// delete deletes one item. One that is gone is as it should be.
func (p *OrphansPlan) delete(ctx context.Context, x *OrphanItem) error {
	switch x.Do {
	case RemoveLeftover:
		return p.removeTrash()
	case RemoveDirectory:
		return p.removeDirectory(x.Name)
	case DropLines:
		err := editCheckpoint(x.Name, func(c streams.Checkpoint) {
			for tp := range x.Lines {
				delete(c, tp)
			}
		})
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went with its task
		}
		return err
	case DeleteOffsets:
		return p.client.DeleteGroupOffsets(ctx, x.ApplicationID, x.Topic, x.Partitions)
	case DeleteGroup:
		return p.client.DeleteGroup(ctx, x.Name)
	}
	there, err := p.sameTopic(ctx, x)
	if err != nil || !there {
		return err
	}
	if err := p.client.DeleteTopics(ctx, x.Name); err != nil {
		return err
	}
	p.awaitGone(ctx, x)
	return nil
}

// awaitGone waits a moment until brokers do not list a deleted topic any more, so
// that the next look does not find it.
func (p *OrphansPlan) awaitGone(ctx context.Context, x *OrphanItem) {
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		if there, err := p.sameTopic(ctx, x); err != nil || !there {
			return // another one of the name is none of ours
		}
		select {
		case <-ctx.Done():
			return // it is deleted
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// removeDirectory moves a directory away at once, and then removes it: no start
// of the application finds half a store.
func (p *OrphansPlan) removeDirectory(dir string) error {
	rel, err := filepath.Rel(p.StateDir, dir)
	if err != nil {
		return err
	}
	to := filepath.Join(trash, rel)
	if err := files.MakeDirs(p.StateDir, filepath.Dir(to)); err != nil {
		return err
	}
	to = filepath.Join(p.StateDir, to)
	if err := os.RemoveAll(to); err != nil { // of a run that was killed
		return err
	}
	err = os.Rename(dir, to)
	if errors.Is(err, fs.ErrNotExist) && !files.Exists(dir) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := files.SyncDir(filepath.Dir(dir)); err != nil {
		return err
	}
	return os.RemoveAll(to)
}
