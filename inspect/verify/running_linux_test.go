//go:build cgo

package verify

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// TestInFlight: an application that runs may have rows on disk whose records its
// producer has not sent yet. They are no finding once the records are there;
// those of which none ever comes are.
func TestInFlight(t *testing.T) {
	for _, sample := range []int{0, 1000} {
		k, c := open1(t)
		m := newModel(t, rand.New(rand.NewPCG(9, 9)), streams.Store{Kind: streams.KV}, 90)
		m.produce(k)
		m.apply(89)
		m.dbs[0]["on its way"], m.dbs[0]["lost"] = "v", "v"
		m.write()
		f, err := os.Create(filepath.Join(m.state, appID, ".lock"))
		must(t, err)
		defer f.Close()
		must(t, syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}))
		o := m.options()
		o.Sample = sample
		res, err := Changelog(t.Context(), c, o, func(e op.Event) {
			if e.Type == op.Warning {
				must(t, k.ProduceAll(t.Context(), m.topic(), kafkatest.Record{Key: []byte("on its way"), Value: []byte("v")}))
			}
		})
		must(t, err)
		if c := res.Total; !*res.Running || c.Extra != 1 || c.Ahead != 1 || c.Findings() != 1 {
			t.Errorf("%+v", c)
		}
		if key, _, _ := res.Tasks[0].Differences[0].Text(); key != "lost" {
			t.Errorf("found %q", key)
		}
	}
}
