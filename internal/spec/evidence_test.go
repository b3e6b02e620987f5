package spec

import (
	"testing"

	"sstool/internal/streams"
)

// The rows of a foreign-key join's store are told in every family they may lie
// in, and a name that Kafka Streams gives counts more than they do: such a store
// must not pass for a key-value store.
func TestSubscriptionRows(t *testing.T) {
	key := []byte("\x00\x00\x00\x02fkkey")
	plain := []byte("\x00\x00\x01\x9b\x12\x34\x56\x78\x01\x02hash of the value")
	prefixed, err := streams.AppendHeadersPrefix(nil, []byte{0})
	if err != nil {
		t.Fatal(err)
	}
	for family, value := range map[string][]byte{streams.TimestampFamily: plain, streams.TimestampHeadersFamily: append(prefixed, plain...)} {
		for _, c := range []struct {
			name string
			row  []byte
			want streams.Kind
		}{
			{"by-city-subscription-store", value, streams.FKSubscription},
			{"news-subscription-store", []byte("no"), streams.TimestampedKV}, // a user's
			{"KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000025", value, streams.FKSubscription},
			{"KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000025", []byte("no"), streams.FKSubscription},
			{"cities", value, streams.TimestampedKV},
		} {
			ev := &evidence{families: map[string]bool{family: true}, fits: map[streams.Kind]int{}}
			ev.row(false, 0, family, key, c.row)
			st := &Store{}
			(&found{name: c.name, dbs: make([]database, 1)}).kind(st, ev)
			if st.Kind != c.want {
				t.Errorf("%s in %s: %s, want %s", c.name, family, st.Kind, c.want)
			}
		}
	}
}
