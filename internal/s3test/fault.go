package s3test

import (
	"context"
	"io"
	"log"
)

type faultKey struct{}

func withFault(ctx context.Context, f Fault) context.Context {
	return context.WithValue(ctx, faultKey{}, f)
}

// quiet is a log for what the faults make the server say.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
