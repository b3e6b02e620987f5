package migrate

import (
	"bytes"
	"context"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/serde"
)

// columns samples the changelogs: how keys and values look, and whether the
// records are those of the kind that the user says.
func (r *ttlRun) columns(ctx context.Context) error {
	for i, s := range r.stores {
		s.log.values = r.needsValues(i)
		seen := 0
		odd := map[string]int{}
		s.guesses.key, s.guesses.value = serde.Guesser{}, serde.Guesser{}
		err := s.log.look(ctx, func(rec *kafka.Record) {
			s.guesses.key.Add(rec.Key)
			s.guesses.value.Add(rec.Value)
			if rec.Value != nil {
				seen++
				odd[looksForeign(rec.Key, rec.Value, rec.Headers)]++
			}
		})
		if err != nil {
			return err
		}
		for what, n := range odd {
			if what != "" && n == seen && seen >= 3 && !s.Certain {
				return op.Errorf(op.Precondition, "all %d records of %s that were looked at are %s, and --kind says %s", seen, s.topic, what, s.Kind).
					WithTry("--state-dir, --spec or --topology, which tell the kind, if it is a key-value store nevertheless")
			}
		}
	}
	choose := func(stated serde.Serde, g *serde.Guesser) ttlColumn {
		if stated != nil {
			return ttlColumn{serde: stated}
		}
		return ttlColumn{serde: g.Serde(), guess: true}
	}
	main := r.stores[0]
	r.rules.key, r.rules.value = choose(r.o.Key, &main.guesses.key), choose(r.o.Value, &main.guesses.value)
	if r.o.Companion != nil {
		r.rules.companion = ttlColumn{serde: r.o.CompanionValue}
		if r.rules.companion.serde == nil {
			long, err := serde.Parse("long")
			if err != nil {
				return err
			}
			r.rules.companion.serde = long
			if g := r.stores[1].guesses.value.Serde(); g != nil {
				r.rules.companion = ttlColumn{serde: g, guess: true}
			}
		}
	}
	r.plan.KeyDecoder, r.plan.ValueDecoder = r.rules.key.decoder(), r.rules.value.decoder()
	return r.narrow()
}

// needsValues says whether a query looks at the values of a store.
func (r *ttlRun) needsValues(store int) bool {
	if store == 1 && r.o.Companion != nil {
		return true
	}
	return store == 0 && (r.o.Where != nil || r.o.Timestamp != nil && r.o.Companion == nil)
}

// narrow sets which keys are read at all.
func (r *ttlRun) narrow() error {
	var prefix []byte
	if r.o.Prefix != "" {
		prefix = []byte(r.o.Prefix)
		if s := r.rules.key.serde; s != nil {
			b, err := s.Encode(r.o.Prefix)
			if err != nil {
				return op.Errorf(op.Usage, "--prefix: %w", err)
			}
			prefix = b
		}
	}
	keys, err := r.keys()
	if err != nil || prefix == nil && keys == nil {
		return err
	}
	wanted := func(key []byte) bool {
		if keys != nil {
			if _, ok := keys[string(key)]; !ok {
				return false
			}
		}
		return bytes.HasPrefix(key, prefix)
	}
	for _, s := range r.stores {
		s.log.wanted = wanted
	}
	return nil
}

// keys are those of the file; nil without one.
func (r *ttlRun) keys() (map[string]struct{}, error) {
	if r.o.Keys == nil {
		return nil, nil
	}
	in, err := r.o.Keys()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	keys, held := map[string]struct{}{}, int64(0)
	err = eachKeyLine(in, r.rules.key.serde, func(key []byte) error {
		keys[string(key)] = struct{}{}
		if held += int64(len(key)) + keyOverhead; held > r.o.Memory/4 {
			return op.Errorf(op.Usage, "the first %d keys take a quarter of the memory, and there are more", len(keys)).WithTry("split the file, or give more with --memory")
		}
		return nil
	})
	if err != nil {
		return nil, &op.Error{Kind: op.KindOf(err), What: "keys from " + r.o.KeysWhy, Err: err}
	}
	n := int64(len(keys))
	r.plan.KeysGiven = &n
	return keys, nil
}

// keyOverhead is what a map takes for a key besides its bytes.
const keyOverhead = 48
