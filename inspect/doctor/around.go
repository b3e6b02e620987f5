package doctor

import (
	"context"
	"slices"

	"sstool/inspect"
	"sstool/inspect/lint"
	"sstool/internal/lsm"
)

// around is what is known beyond the stores and their offsets.
type around struct {
	tree    *inspect.Tree // null: no directory was given
	options []dbOptions   // of every database here that has an OPTIONS file
	brokers int           // of the cluster; 0: not known
	groups  []string      // of the cluster; empty when they may not be listed
	topics  []*topicFacts // the application's, by name; empty without a cluster or an id
	lint    *lint.Result  // of the topology; null: none was given
	log     *LastStart    // null: no log, or no start in it
	logErr  error
}

func (f *facts) lookAround(ctx context.Context) (err error) {
	if f.o.Path != "" && f.stateErr == nil {
		if f.tree, err = inspect.Find(ctx, f.o.Path); err != nil {
			return err
		}
	}
	if f.o.Log != nil {
		f.log, f.logErr = readStart(f.o.LogName, f.o.Log)
	}
	f.options = f.readOptions(ctx)
	if f.cluster != nil && f.cluster.err == nil {
		f.brokers, _ = f.o.Client.Brokers(ctx)
		f.groups, _ = f.o.Client.GroupIDs(ctx)
	}
	f.topics = f.gatherTopics(ctx)
	if len(f.topics) > 0 && f.o.Guarantee == "" && f.config == nil {
		f.askProducers(ctx)
	}
	f.lint, err = f.lintTopology(ctx)
	return err
}

// dbOptions is what one database is configured to write.
type dbOptions struct {
	lsm.Options
	store *inspect.Store
	dir   string
}

// readOptions reads the OPTIONS file of every database of the application.
func (f *facts) readOptions(ctx context.Context) []dbOptions {
	if f.tree == nil {
		return nil
	}
	var list []dbOptions
	for _, s := range f.tree.Stores() {
		if f.app != "" && s.Task.App.ID != f.app {
			continue
		}
		for _, d := range s.Databases {
			list = append(list, dbOptions{store: s, dir: d.Dir})
		}
	}
	inspect.ForEach(ctx, len(list), 8, func(i int) {
		list[i].Options, _ = lsm.ReadOptions(list[i].dir) // what is wrong with it restart.files tells
	})
	return slices.DeleteFunc(list, func(o dbOptions) bool { return o.RocksDBVersion == "" })
}
