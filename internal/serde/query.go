package serde

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/itchyny/gojq"
)

// Query is a compiled jq expression. It may be used from several goroutines.
type Query struct{ code *gojq.Code }

// ParseQuery compiles a jq expression, in which vars ("$key") may be used. The
// environment and files are not visible to it.
func ParseQuery(expr string, vars ...string) (*Query, error) {
	q, err := gojq.Parse(expr)
	if err != nil {
		return nil, fmt.Errorf("jq expression %q: %w", expr, err)
	}
	code, err := gojq.Compile(q, gojq.WithVariables(vars))
	if err != nil {
		return nil, fmt.Errorf("jq expression %q: %w", expr, err)
	}
	return &Query{code}, nil
}

// Run calls fn with every result for v, a value as Decode returns, and the
// values of the variables. An error of the expression is returned; halt ends it
// without one.
func (q *Query) Run(ctx context.Context, v any, fn func(any) error, vars ...any) error {
	in, err := Plain(v)
	if err != nil {
		return err
	}
	values := make([]any, len(vars))
	for i, x := range vars {
		if values[i], err = Plain(x); err != nil {
			return err
		}
	}
	for it := q.code.RunWithContext(ctx, in, values...); ; {
		out, ok := it.Next()
		if !ok {
			return nil
		}
		if err, bad := out.(error); bad {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				return nil
			}
			return fmt.Errorf("jq: %w", err)
		}
		if err := fn(out); err != nil {
			return err
		}
	}
}

// Plain turns a decoded value into what encoding/json would make of its JSON:
// maps, slices, strings, numbers.
func Plain(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, int, float64:
		return v, nil
	case int64:
		return int(v), nil
	case float32:
		return float64(v), nil
	case Time:
		return v.String(), nil
	case RawJSON:
		d := json.NewDecoder(bytes.NewReader(v))
		d.UseNumber()
		var out any
		err := d.Decode(&out)
		return out, err
	case Object:
		out := make(map[string]any, len(v))
		for _, f := range v {
			x, err := Plain(f.Value)
			if err != nil {
				return nil, err
			}
			out[f.Name] = x
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			x, err := Plain(e)
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	}
	return nil, fmt.Errorf("no plain form of a %T", v)
}
