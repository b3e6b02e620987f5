package cmd

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cancels ends a context at the first thing that is written.
type cancels struct{ cancel context.CancelFunc }

func (c cancels) Write(p []byte) (int, error) {
	c.cancel()
	return len(p), nil
}

// TestWatchIsSaved: --watch has no other end than an interruption.
func TestWatchIsSaved(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "testdata", "metrics", "kafka-4.4.0-jmx.prom"))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) }))
	defer srv.Close()
	saved := filepath.Join(t.TempDir(), "last.prom")
	ctx, cancel := context.WithCancel(t.Context())
	args := []string{"monitor", srv.URL, "--watch", "--save", saved}
	if code := Run(ctx, args, IO{In: strings.NewReader(""), Out: cancels{cancel}, Err: io.Discard}); code != 130 {
		t.Errorf("exit code %d", code)
	}
	if b, err := os.ReadFile(saved); err != nil || !strings.Contains(string(b), "estimate_num_keys") {
		t.Errorf("%v: %.200s", err, b)
	}
}
