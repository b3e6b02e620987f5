package inspect

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"os"
	"slices"
	"sync"
)

// MapCache remembers what was read of databases, so that whoever maps the same
// path again and again reads only those whose files have changed since.
type MapCache struct {
	mu   sync.Mutex
	old  map[factKey]cachedFacts // of the last map
	next map[factKey]cachedFacts // of the one that is being made
	hits int
}

type cachedFacts struct {
	mark  uint64
	facts *dbFacts
}

// NewMapCache makes an empty cache, for one path.
func NewMapCache() *MapCache { return &MapCache{} }

// Dirs are the databases' directories of the last map.
func (c *MapCache) Dirs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for k := range c.old {
		out = append(out, k.dir)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// begin and end bracket a map: what the map did not ask for is forgotten.
func (c *MapCache) begin() {
	if c != nil {
		c.mu.Lock()
		c.next, c.hits = map[factKey]cachedFacts{}, 0
		c.mu.Unlock()
	}
}

func (c *MapCache) end() {
	if c != nil {
		c.mu.Lock()
		c.old, c.next = c.next, nil
		c.mu.Unlock()
	}
}

// read is r.read, or what it said before when no file differs in name, size or
// time from then. The mark is taken before reading: a change meanwhile differs.
func (c *MapCache) read(ctx context.Context, r *dbReader, d Database) *dbFacts {
	if c == nil {
		return r.read(ctx, d)
	}
	key := factKey{d.Dir, d.Only}
	mark, ok := listingMark(d.Dir)
	c.mu.Lock()
	was, have := c.old[key]
	c.mu.Unlock()
	if !ok || !have || was.mark != mark {
		was = cachedFacts{mark, r.read(ctx, d)}
	} else {
		c.mu.Lock()
		c.hits++
		c.mu.Unlock()
	}
	if f := was.facts; ctx.Err() != nil || !ok || f.err != nil || f.gone || f.unread != nil {
		was.mark = 0 // read again next time
	}
	c.mu.Lock()
	c.next[key] = was
	c.mu.Unlock()
	return was.facts
}

// listingMark is a fingerprint of a directory's files, RocksDB's own logs left
// out.
func listingMark(dir string) (mark uint64, ok bool) {
	es, err := os.ReadDir(dir)
	if err != nil {
		return 0, false
	}
	h := fnv.New64a()
	var buf [16]byte
	for _, e := range es {
		if e.Name() == "LOG" {
			continue
		}
		st, err := e.Info()
		if err != nil {
			return 0, false
		}
		h.Write([]byte(e.Name()))
		binary.LittleEndian.PutUint64(buf[:], uint64(st.Size()))
		binary.LittleEndian.PutUint64(buf[8:], uint64(st.ModTime().UnixNano()))
		h.Write(buf[:])
	}
	return h.Sum64() | 1, true
}
