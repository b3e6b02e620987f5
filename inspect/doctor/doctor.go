package doctor

import (
	"context"
	"io"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// Options say what is given and what is asked. Everything may be missing; the
// checks that need it then say so.
type Options struct {
	AppID string
	Path  string // a state directory, or the application's in it
	// Client asks the cluster; ClientErr is why there is none although one was
	// wanted.
	Client    *kafka.Client
	ClientErr error
	Topology  *topology.Topology
	Config    *AppConfig
	Log       io.Reader // the application's log
	LogName   string
	Target    streams.Version // of an upgrade or a downgrade; zero: not asked
	// Rate is how many records a second a restore takes, to predict times; 0:
	// not known.
	Rate     float64
	RateFrom string // where it is from
	SLA      time.Duration
	Areas    []string // none: all
	Only     []string // ids of checks; none: all
	Now      time.Time
}

// Result is the document inspect.doctor.
type Result struct {
	At        time.Time    `json:"at"`
	AppID     string       `json:"application_id"` // "" when it is not known
	Path      string       `json:"path"`           // "" when no directory was given
	ClusterID *string      `json:"cluster_id"`     // null: not asked, or it did not answer
	Findings  []op.Finding `json:"findings"`       // by area, then check
	Tasks     []TaskStart  `json:"tasks"`          // what the next start does
	Count     Count        `json:"count"`
}

// Count is how many findings have each status.
type Count struct {
	OK         int `json:"ok"`
	Warnings   int `json:"warnings"`
	Problems   int `json:"problems"`
	Unmeasured int `json:"unmeasured"`
}

// TaskStart is what the next start of the application does with one task that
// lies here.
type TaskStart struct {
	Task    string       `json:"task"`
	Will    string       `json:"will"`    // resume, replay, wipe, …; "" when it cannot be told
	Records *int64       `json:"records"` // to replay; null: not known
	Seconds *float64     `json:"seconds"` // that the replay takes at the rate given; null: not known
	Why     string       `json:"why"`
	Stores  []StoreStart `json:"stores"`
}

// StoreStart is the same of one store.
type StoreStart struct {
	Store   string `json:"store"`
	Will    string `json:"will"`
	Records *int64 `json:"records"`
	Why     string `json:"why"`
}

// Run gathers the facts and runs the checks.
func Run(ctx context.Context, o Options, sink op.Sink) (*Result, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	f, err := gather(ctx, &o, sink)
	if err != nil {
		return nil, err
	}
	r := &Result{At: o.Now.UTC(), AppID: f.app, Path: o.Path, Findings: []op.Finding{}, Tasks: []TaskStart{}}
	if f.cluster != nil && f.cluster.err == nil {
		r.ClusterID = &f.cluster.id
	}
	for _, c := range Checks() {
		if o.wants(&c) {
			r.Findings = append(r.Findings, runCheck(&c, f)...)
		}
	}
	for _, x := range r.Findings {
		switch x.Status {
		case op.OK:
			r.Count.OK++
		case op.Attention:
			r.Count.Warnings++
		case op.Wrong:
			r.Count.Problems++
		default:
			r.Count.Unmeasured++
		}
	}
	return r, ctx.Err()
}
