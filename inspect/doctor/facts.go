package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"sstool/inspect"
	"sstool/internal/op"
	"sstool/internal/topology"
)

// facts is what is known, gathered once. A fact that could not be had is zero,
// and its error says why.
type facts struct {
	o   *Options
	app string // the application's id; "" when nothing tells it

	state    *inspect.Map // null: no directory was given
	stateErr error
	topology *topology.Topology // null: none was given
	config   *AppConfig         // null: none was given

	cluster *clusterFacts // null: no cluster was named

	others []*inspect.Map // of Options.Also, in its order
	lying  []*lyingTask   // memo of lyingTasks
	around                // what checks of topics, host and configuration look at
}

// gather reads everything that the options name.
func gather(ctx context.Context, o *Options, sink op.Sink) (*facts, error) {
	f := &facts{o: o, topology: o.Topology, config: o.Config}
	if o.Path != "" {
		f.state, f.stateErr = inspect.MapPath(ctx, inspect.MapOptions{Path: o.Path, Client: o.Client, ClientErr: o.ClientErr}, sink)
		if _, err := os.Stat(o.Path); err != nil || f.stateErr != nil && op.KindOf(f.stateErr) != op.NotFound {
			return nil, f.stateErr
		}
	}
	for _, path := range o.Also {
		m, err := inspect.MapPath(ctx, inspect.MapOptions{Path: path}, sink)
		if err != nil {
			return nil, err
		}
		f.others = append(f.others, m)
	}
	f.app = f.whose()
	if o.Client != nil || o.ClientErr != nil {
		f.cluster = f.askCluster(ctx, sink)
	}
	if err := f.lookAround(ctx); err != nil {
		return nil, err
	}
	return f, ctx.Err()
}

// whose is the application's id: stated, or of the properties, or the only one
// under the path.
func (f *facts) whose() string {
	id := cmp.Or(f.o.AppID, f.config.get("application.id"))
	if id == "" && f.state != nil && len(f.state.Apps) == 1 {
		id = f.state.Apps[0].ID
	}
	return id
}

// apps are the applications found that are looked at: that of the id, or all.
func (f *facts) apps() []*inspect.MapApp {
	var out []*inspect.MapApp
	if f.state == nil {
		return nil
	}
	for i := range f.state.Apps {
		if a := &f.state.Apps[i]; f.app == "" || a.ID == f.app || a.ID == "" {
			out = append(out, a)
		}
	}
	return out
}

// lacks says why a needed fact is missing; "" when it is there.
func (f *facts) lacks(n need) string {
	switch n {
	case needsState:
		switch {
		case f.o.Path == "":
			return "no state directory given (--state-dir)"
		case f.stateErr != nil:
			return f.stateErr.Error()
		}
	case needsCluster:
		switch {
		case f.cluster == nil:
			return "no cluster given (--bootstrap-server)"
		case f.cluster.err != nil:
			return fmt.Sprintf("the cluster could not be asked: %v", f.cluster.err)
		}
	case needsTopology:
		if f.topology == nil {
			return "no topology given (--topology)"
		}
	case needsConfig:
		if f.config == nil {
			return "the application's properties are not given (--app-config)"
		}
	case needsLog:
		if f.o.Log == nil {
			return "no log of the application given (--log)"
		}
	case needsTarget:
		if f.o.Target.IsZero() {
			return "no version given (--target-version)"
		}
	case needsID:
		if f.app == "" {
			return "the application's id is not known (--application-id)"
		}
	}
	return ""
}
