package tui

import (
	"context"
	"io"
	"log/slog"
	"time"

	"sstool/inspect/doctor"
	"sstool/inspect/lint"
	"sstool/internal/kafka"
	"sstool/internal/topology"
)

// Options of the dashboard.
type Options struct {
	Contexts []Context // at least one
	Current  int       // the one to begin with

	AllowWrites bool
	// Actions are what can be done to a subject; nil: nothing.
	Actions func(c *Context, s Subject) []Action
	Theme   string              // one of Themes; "": auto
	ASCII   bool                // no characters beyond ASCII in frames
	Keys    map[string][]string // by name (KeyNames): instead of the usual keys
	Log     *slog.Logger        // nil: nowhere

	In  io.Reader
	Out io.Writer
	Env []string

	// Prompt says that a person types: RunPlain then says that it waits.
	Prompt bool

	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Poll is how often offsets are asked for; 0: 5 s.
	Poll time.Duration

	onStart func(*Model) // of tests: called beside the running program
}

// Context is what there is to look at: a state directory, a cluster, or both.
type Context struct {
	Name          string
	Path          string // a state directory, or anything above or below; "": none
	ApplicationID string // of the cluster's changelogs; "": of all groups
	Cluster       string // the address, as it is shown; "": none
	// Flags lead a command to the same cluster: --bootstrap-server HOST:PORT.
	Flags []string
	// Connect opens the cluster; nil without one.
	Connect func(context.Context) (*kafka.Client, error)
	// Topologies are the texts of Topology#describe(), parsed.
	Topologies []topology.Model
	// TopologyArgs are the files it comes from, for command lines.
	TopologyArgs []string
	// AppConfig are the application's properties, for the doctor; nil: not given.
	AppConfig    *doctor.AppConfig
	AppConfigErr error // why they could not be read
	// Metrics are where the metrics of the applications are; nil: not given.
	Metrics *Metrics
	// LintFacts adds to what is judged what sstool lint would: the configuration
	// of each text, and with a client the facts of the cluster. It says what could
	// not be asked. nil: nothing is added.
	LintFacts func(ctx context.Context, client *kafka.Client, o *lint.Options) (warned []string, err error)
}

func (o *Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

func (o *Options) poll() time.Duration {
	if o.Poll > 0 {
		return o.Poll
	}
	return 5 * time.Second
}

func (o *Options) log() *slog.Logger {
	if o.Log != nil {
		return o.Log
	}
	return slog.New(slog.DiscardHandler)
}
