package doctor

import (
	"context"
	"io"
	"slices"
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
	// Also are the state directories of other hosts, as far as they can be seen
	// from here.
	Also []string
	// Kafka is the version of Kafka Streams that starts next; zero: told from
	// the state directory.
	Kafka     streams.Version
	Guarantee string // processing.guarantee; "": that of Config
	// Rate is how many records a second a restore takes, to predict times; 0:
	// not known. Rates are those of kinds of stores, where they were measured.
	Rate  float64
	Rates map[streams.Kind]float64
	// Restored is how long a restore of the application took where it was
	// measured; 0: not known. SLA is how long it may take; 0: not given.
	Restored     time.Duration
	RestoredFrom string
	SLA          time.Duration
	Areas        []string // none: all
	Only         []string // ids of checks; none: all
	Now          time.Time
}

// Result is the document inspect.doctor.
type Result struct {
	At           time.Time    `json:"at"`
	AppID        string       `json:"application_id"`           // "" when it is not known
	Path         string       `json:"path"`                     // "" when no directory was given
	ClusterID    *string      `json:"cluster_id"`               // null: not asked, or it did not answer
	Findings     []op.Finding `json:"findings"`                 // by area, then check
	Kafka        string       `json:"kafka_version"`            // that starts next; "" without a state directory
	KafkaWhy     string       `json:"kafka_version_why"`        // "" when it was given
	Guarantee    string       `json:"processing_guarantee"`     // "" when it is not known
	GuaranteeWhy string       `json:"processing_guarantee_why"` // "" when it was given, or is not known
	Tasks        []TaskStart  `json:"tasks"`                    // what the next start does
	LastStart    *LastStart   `json:"last_start"`               // of --log; null: no log, or no start in it
	Count        Count        `json:"count"`
}

// Count is how many findings have each status.
type Count struct {
	OK         int `json:"ok"`
	Warnings   int `json:"warnings"`
	Problems   int `json:"problems"`
	Unmeasured int `json:"unmeasured"`
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
	if f.state != nil && slices.ContainsFunc(restartChecks(), func(c Check) bool { return o.wants(&c) }) {
		r.Tasks = f.starts()
		v, why := f.kafka()
		r.Kafka, r.KafkaWhy = v.String(), why
	}
	if eos, known := f.exactlyOnce(); known {
		r.Guarantee = map[bool]string{true: "exactly_once_v2", false: "at_least_once"}[eos]
		_, r.GuaranteeWhy = f.guarantee()
	}
	r.LastStart = f.log
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
