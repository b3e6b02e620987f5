package lsm

import (
	"encoding/binary"
	"strings"
)

// FilterInfo is what a table's filter is.
type FilterInfo struct {
	// Kind is "" for no filter, "bloom" (format version 5 and up),
	// "legacy bloom" (before it), "block bloom" (one per 2 KiB of data, before
	// RocksDB 7.0), "ribbon", "empty" (no key is in it), "always true", or
	// "unknown".
	Kind        string
	Partitioned bool
	Prefixes    bool   // it knows prefixes of keys alone, so no key can be looked up
	Policy      string // as the metaindex names it
	Probes      int    // bits looked at per key; 0 when the kind has none
	Entries     int64  // keys and prefixes in it; 0 when not known
}

// Metaindex names of filters, each followed by the policy's name.
const (
	metaFullFilter  = "fullfilter."
	metaPartFilter  = "partitionedfilter."
	metaBlockFilter = "filter."
)

// filterTail is the end of a filter that says what it is.
const filterTail = 5

// filterBlock finds the metaindex entry of the filter.
func (t *Table) filterBlock() (m metaBlock, prefix string) {
	for _, m := range t.meta {
		for _, prefix := range []string{metaFullFilter, metaPartFilter, metaBlockFilter} {
			if strings.HasPrefix(m.name, prefix) {
				return m, prefix
			}
		}
	}
	return metaBlock{}, ""
}

// Filter describes the table's filter. It reads the filter's last five bytes,
// of a partitioned one its index and the last bytes of one partition.
func (t *Table) Filter() FilterInfo {
	m, prefix := t.filterBlock()
	if prefix == "" {
		return FilterInfo{}
	}
	info := FilterInfo{Kind: "unknown", Partitioned: prefix == metaPartFilter, Policy: m.name[len(prefix):]}
	info.Prefixes = !t.wholeKeys()
	if n, ok := t.props.Uint(propFilterKeys); ok {
		info.Entries = int64(min(n, 1<<62))
	}
	at := m.at
	switch prefix {
	case metaBlockFilter:
		info.Kind = "block bloom"
		return info
	case metaPartFilter:
		parts, err := t.partitions(m.name, m.at)
		if err != nil || len(parts) == 0 {
			return info
		}
		at = parts[0]
	}
	if t.inBounds(m.name, at) != nil {
		return info
	}
	tail := make([]byte, min(at.size, filterTail+1))
	if t.readAt(tail, int64(at.off+at.size)-int64(len(tail))) != nil {
		return info
	}
	f := parseFilter(tail)
	info.Kind, info.Probes = f.kind, f.probes
	return info
}

// MayContain says whether the table may hold point entries of the user key:
// false is certain. Where there is no filter, none of a kind that this reader
// can ask (ribbon), or none that can be read, the answer is true. The filter
// is read and verified once and kept, of a partitioned one its index.
func (t *Table) MayContain(userKey []byte) bool {
	f := t.loadFilter()
	if f == nil {
		return true
	}
	if f.form == nil {
		return f.bits.mayContain(userKey)
	}
	c := blockCursor{e: entries{index: f.form, trailer: f.form.trailer}}
	if c.reset(f.top) != nil || !c.seek(userKey, t.order.cmp) && (c.err() != nil || !c.last()) {
		return true
	}
	at := c.at()
	if at.size == 0 { // out of the range of all partitions
		return false
	}
	raw, err := t.raw("filter partition", at, nil)
	if err != nil || raw[at.size] != rawBlock {
		return true
	}
	part := parseFilter(raw[:at.size])
	return part.mayContain(userKey)
}

// filter is a filter that was read: bits, or the index of its partitions.
type filter struct {
	bits filterBits
	top  []byte
	form *indexForm // nil when the filter is in one piece
}

// loadFilter reads the filter; nil when there is none to ask.
func (t *Table) loadFilter() *filter {
	t.mu.Lock()
	f, done := t.filter, t.filterRead
	t.mu.Unlock()
	if done {
		return f
	}
	f = t.readFilter()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.filter, t.filterRead = f, true
	return f
}

func (t *Table) readFilter() *filter {
	m, prefix := t.filterBlock()
	if !t.wholeKeys() || t.order.cmp == nil {
		return nil
	}
	switch prefix {
	case metaFullFilter:
		raw, err := t.raw("filter", m.at, nil)
		if err != nil || raw[m.at.size] != rawBlock {
			return nil
		}
		return &filter{bits: parseFilter(raw[:m.at.size])}
	case metaPartFilter:
		top, err := t.block("filter index", m.at)
		if err != nil {
			return nil
		}
		return &filter{top: top, form: t.filterForm()}
	}
	return nil
}

func (t *Table) wholeKeys() bool { return t.props.Text(propWholeKeys) != "0" }

// filterForm is the form of the index of a partitioned filter: that of the
// table's index without first keys.
func (t *Table) filterForm() *indexForm {
	f := t.indexForm()
	f.firstKey = false
	return f
}

// filterBits is a full filter or a partition of one (table/block_based/
// filter_policy.cc:GetBuiltinFilterBitsReader).
type filterBits struct {
	kind   string
	data   []byte // without the five bytes at the end
	probes int    // 0: not to be asked
	lines  uint32 // legacy bloom: cache lines of the machine that wrote it
}

// parseFilter reads the last bytes of b, which may lack what is before them
// when only the kind and the probes are wanted.
func parseFilter(b []byte) filterBits {
	n := len(b) - filterTail
	if n <= 0 {
		return filterBits{kind: "empty"}
	}
	f := filterBits{kind: "always true", data: b[:n]}
	meta := b[n:]
	switch marker := meta[0]; {
	case marker == 0xff:
		const sub, block64 = 0, 0 // FastLocalBloom in lines of 64 bytes
		probes := int(meta[2] & 31)
		if meta[1] == sub && meta[2]>>5 == block64 && probes >= 1 && probes <= 30 && meta[3] == 0 && meta[4] == 0 {
			f.kind, f.probes = "bloom", probes
		}
	case marker == 0xfe:
		f.kind = "ribbon"
	case marker >= 1 && marker < 0x80:
		f.kind, f.probes = "legacy bloom", int(marker)
		f.lines = binary.LittleEndian.Uint32(meta[1:])
	}
	return f
}
