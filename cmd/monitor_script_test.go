package cmd

import (
	"compress/gzip"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scrapeCmd copies a page that a real application showed: scrape NAME FILE.
func scrapeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: scrape NAME FILE")
	}
	b, err := os.ReadFile(filepath.Join("..", "testdata", "metrics", args[0]+".prom"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b, 0o600))
}

// endpointCmd serves pages for the script: endpoint FILE. Its address is in
// $ENDPOINT; below it are endpoints that behave badly. The certificate of
// $TLS_ENDPOINT, which serves the same, is in ca.pem.
func endpointCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: endpoint FILE")
	}
	file := ts.MkAbs(args[0])
	page := func(w http.ResponseWriter) {
		b, err := os.ReadFile(file)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(b)
	}
	mux := http.NewServeMux()
	handle := func(path string, fn func(w http.ResponseWriter, r *http.Request)) { mux.HandleFunc("GET "+path, fn) }
	handle("/metrics", func(w http.ResponseWriter, _ *http.Request) { page(w) })
	handle("/gzip", func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			http.Error(w, "only packed", http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		z := gzip.NewWriter(w)
		b, _ := os.ReadFile(file)
		_, _ = z.Write(b)
		_ = z.Close()
	})
	handle("/html", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>up 1</html>")
	})
	handle("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	handle("/stuck", func(w http.ResponseWriter, r *http.Request) { // in the middle of the page
		page(w)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	handle("/huge", func(w http.ResponseWriter, r *http.Request) { // packed 1:1000, as an attacker would
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		line := strings.Repeat("a_metric_of_nobody 1\n", 50_000)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(z, line); err != nil {
				return
			}
		}
	})
	handle("/broken", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "oops", http.StatusInternalServerError) })
	handle("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/metrics", http.StatusFound) })
	handle("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	handle("/basic", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "scraper" || password != "sesame" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		page(w)
	})
	handle("/bearer", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		page(w)
	})
	plain, secure := httptest.NewServer(mux), httptest.NewTLSServer(mux)
	ts.Defer(plain.Close)
	ts.Defer(secure.Close)
	ts.Defer(plain.CloseClientConnections) // those that hang
	ts.Defer(secure.CloseClientConnections)
	ts.Setenv("ENDPOINT", plain.URL)
	ts.Setenv("TLS_ENDPOINT", secure.URL)
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
}
