package cmd

import (
	"time"

	"sstool/internal/spec"
)

// specDoc is a specification as JSON. A value that is not known is null; From
// says why.
type specDoc struct {
	ApplicationID string                `json:"application_id"`
	Guarantee     *string               `json:"processing_guarantee"`
	KafkaVersion  *string               `json:"kafka_version"`
	Stores        []specStore           `json:"stores"`
	From          map[string]specSource `json:"from"`
	Notes         []string              `json:"notes"`
}

type specStore struct {
	Name             string                `json:"name"`
	Kind             *string               `json:"kind"`
	Candidates       []string              `json:"kind_candidates"`
	Headers          bool                  `json:"headers"`
	Subtopology      *int                  `json:"subtopology"`
	Global           bool                  `json:"global"`
	GlobalCopy       bool                  `json:"global_copy"`
	Topic            *string               `json:"topic"`
	SourceTopic      bool                  `json:"source_topic"`
	Retention        *string               `json:"retention"`
	SegmentInterval  *string               `json:"segment_interval"`
	HistoryRetention *string               `json:"history_retention"`
	WithIndex        bool                  `json:"with_index"`
	Missing          []string              `json:"missing"`
	From             map[string]specSource `json:"from"`
	Notes            []string              `json:"notes"`
}

// specSource says where a value comes from; one that is not certain was derived.
type specSource struct {
	Text    string `json:"text"`
	Certain bool   `json:"certain"`
}

func newSpecDoc(s *spec.Spec) specDoc {
	d := specDoc{ApplicationID: s.ApplicationID, Guarantee: known(s.Guarantee), KafkaVersion: known(s.KafkaVersion), From: sources(s.From), Notes: s.Notes}
	for i := range s.Stores {
		st := &s.Stores[i]
		x := specStore{
			Name: st.Name, Kind: known(string(st.Kind)), Headers: st.Headers, Subtopology: st.Subtopology, Global: st.Global, GlobalCopy: st.GlobalCopy,
			Topic: known(st.Topic), SourceTopic: st.SourceTopic, WithIndex: st.WithIndex, From: sources(st.From), Notes: st.Notes,
		}
		for _, v := range []struct {
			to   **string
			from time.Duration
		}{{&x.Retention, st.Retention}, {&x.SegmentInterval, st.SegmentInterval}, {&x.HistoryRetention, st.HistoryRetention}} {
			if v.from != 0 {
				*v.to = known(spec.FormatDuration(v.from))
			}
		}
		for _, k := range st.Candidates {
			x.Candidates = append(x.Candidates, string(k))
		}
		for _, f := range st.Missing() {
			x.Missing = append(x.Missing, string(f))
		}
		d.Stores = append(d.Stores, x)
	}
	return d
}

func sources(from map[spec.Field]spec.Source) map[string]specSource {
	out := map[string]specSource{}
	for f, s := range from {
		out[string(f)] = specSource{s.Text, s.Certain}
	}
	return out
}

// known is a value, nil when there is none.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
