// Package registry asks a schema registry which subjects name a topic. It only
// reads; registering schemas is the application's own doing.
package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sstool/internal/op"
)

// maxAnswer bounds what a registry may answer.
const maxAnswer = 64 << 20

// Subjects are the subjects of the registry at address that name one of the
// topics: "<topic>-key" and "<topic>-value" (TopicNameStrategy), and
// "<topic>-<record>" (TopicRecordNameStrategy). A user and a password may stand
// in the address; they are never part of an error.
func Subjects(ctx context.Context, address string, topics []string) ([]string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, op.Errorf(op.Usage, "the schema registry's address is not of the form http://HOST:PORT or https://HOST:PORT")
	}
	what := "ask the schema registry at " + u.Host
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("subjects").String(), nil)
	if err != nil {
		return nil, op.Errorf(op.Usage, "%s: the address is not usable", what)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if ue, ok := err.(*url.Error); ok {
			err = ue.Err // without the address
		}
		return nil, &op.Error{Kind: op.Unreachable, What: what, Err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &op.Error{Kind: op.Unreachable, What: what, Err: fmt.Errorf("it answers %s", resp.Status)}
	}
	var all []string
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&all); err != nil {
		return nil, &op.Error{Kind: op.Failed, What: what, Err: fmt.Errorf("the list of subjects is not JSON: %w", err)}
	}
	out := []string{}
	for _, s := range all {
		if slices.ContainsFunc(topics, func(t string) bool { return strings.HasPrefix(s, t+"-") }) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out, nil
}
