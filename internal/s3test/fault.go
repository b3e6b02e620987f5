package s3test

import (
	"context"
	"io"
	"log"
	"net/http"
	"strings"
)

type faultKey struct{}

func withFault(ctx context.Context, f Fault) context.Context {
	return context.WithValue(ctx, faultKey{}, f)
}

// quiet is a log for what the faults make the server say.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// First breaks the first n requests that match; -1: all.
func First(n int, match func(*http.Request) bool, f Fault) func(*http.Request) Fault {
	return func(r *http.Request) Fault {
		if n != 0 && match(r) {
			n--
			return f
		}
		return Fault{}
	}
}

// Below matches requests for keys below a folder, "objects"; method "": all.
func Below(folder, method string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/"+folder+"/") && (method == "" || r.Method == method)
	}
}
