package doctor

import (
	"os"
	"testing"

	"sstool/internal/worldtest"
)

func TestMakeLogs(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	for _, v := range []string{"3.9.2", "4.0.2", "4.4.0"} {
		h := worldtest.Streams(t, v)
		p := worldtest.ProfileNamed("agg")
		a := p.App("log"+v[:1]+v[2:3], b.Bootstrap, t.TempDir(), false)
		if _, err := h.Build(t.Context(), a, worldtest.Input{}); err != nil {
			t.Fatal(err)
		}
		for _, how := range []string{"resume", "restore"} {
			if how == "restore" {
				os.RemoveAll(a.Dir())
			}
			log, err := h.Logged(t.Context(), a)
			if err != nil {
				t.Fatal(err, log)
			}
			os.WriteFile("/tmp/docBlogs/"+v+"-"+how+".log", []byte(log), 0o644)
		}
	}
}
