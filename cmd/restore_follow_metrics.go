package cmd

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"time"

	"sstool/internal/exposition"
	"sstool/internal/op"
	"sstool/restore"
)

// followMetrics serves a follower's status to Prometheus.
type followMetrics struct {
	server *http.Server
	url    string
}

func serveFollow(addr string, plan *restore.FollowPlan) (*followMetrics, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, &op.Error{Kind: op.Usage, What: "--metrics-listen " + addr, Err: err}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		s, follows := plan.Status()
		var page bytes.Buffer
		if err := exposition.Write(&page, followFamilies(plan.Options.ApplicationID, s, follows)...); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", exposition.ContentType)
		_, _ = w.Write(page.Bytes())
	})
	m := &followMetrics{server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}, url: "http://" + l.Addr().String() + "/metrics"}
	go func() { _ = m.server.Serve(l) }() // ends with close
	return m, nil
}

func (m *followMetrics) close() { _ = m.server.Close() }

// followFamilies are the metrics of a follower: docs/follow.md lists them.
func followFamilies(app string, s restore.FollowStatus, follows bool) []exposition.Family {
	id := exposition.Label{Name: "application_id", Value: app}
	total := func(name, help, kind string, v float64) exposition.Family {
		return exposition.Family{Name: name, Help: help, Type: kind, Samples: []exposition.Sample{{Labels: []exposition.Label{id}, Value: v}}}
	}
	each := func(name, help, kind string, value func(p *restore.FollowPartition) (float64, bool)) exposition.Family {
		f := exposition.Family{Name: name, Help: help, Type: kind}
		for i := range s.Partitions {
			p := &s.Partitions[i]
			if v, ok := value(p); ok {
				f.Samples = append(f.Samples, exposition.Sample{Value: v, Labels: []exposition.Label{id, {Name: "task", Value: p.Task}, {Name: "store", Value: p.Store},
					{Name: "topic", Value: p.Topic}, {Name: "partition", Value: strconv.Itoa(int(p.Partition))}}})
			}
		}
		return f
	}
	following := 0.0
	if follows {
		following = 1
	}
	return []exposition.Family{
		total("sstool_follow_following", "1 while the stores are followed, 0 while they are restored before that", "gauge", following),
		total("sstool_follow_restored_records", "records restored before following began", "gauge", float64(s.Restored)),
		total("sstool_follow_flushes_total", "flushes of stores", "counter", float64(s.Flushes)),
		each("sstool_follow_lag_records", "offsets of the changelog that are not applied yet", "gauge",
			func(p *restore.FollowPartition) (float64, bool) { return float64(p.Lag), true }),
		each("sstool_follow_position", "next offset to be applied", "gauge",
			func(p *restore.FollowPartition) (float64, bool) { return float64(p.Position), true }),
		each("sstool_follow_end_offset", "end of the changelog as the leader said last", "gauge",
			func(p *restore.FollowPartition) (float64, bool) { return float64(p.End), true }),
		each("sstool_follow_checkpoint_offset", "last record whose offset is on disk", "gauge",
			func(p *restore.FollowPartition) (float64, bool) {
				if p.Checkpoint == nil {
					return 0, false
				}
				return float64(*p.Checkpoint), true
			}),
		each("sstool_follow_records_applied_total", "records applied since following began", "counter",
			func(p *restore.FollowPartition) (float64, bool) { return float64(p.Records), true }),
		each("sstool_follow_bytes_applied_total", "keys and values of those records", "counter",
			func(p *restore.FollowPartition) (float64, bool) { return float64(p.Bytes), true }),
		each("sstool_follow_last_flush_age_seconds", "time since the store was flushed and its offset written", "gauge",
			func(p *restore.FollowPartition) (float64, bool) { return p.FlushAge, true }),
		each("sstool_follow_last_answer_age_seconds", "time since the question that the partition's leader has answered last", "gauge",
			func(p *restore.FollowPartition) (float64, bool) { return p.AnswerAge, true }),
		each("sstool_follow_started_over_total", "times the store was moved aside and restored", "counter",
			func(p *restore.FollowPartition) (float64, bool) { return float64(p.Over), true }),
	}
}
