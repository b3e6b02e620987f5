package lsm

// filter is a filter that was read.
type filter struct{ info FilterInfo }

// Filter describes the table's filter from its last bytes.
func (t *Table) Filter() FilterInfo {
	m, prefix := t.filterBlock()
	if prefix == "" {
		return FilterInfo{}
	}
	return FilterInfo{Kind: "unknown", Partitioned: prefix == metaPartFilter, Policy: m.name[len(prefix):], Size: int64(m.at.size)}
}

// MayContain says whether the table may hold entries of the user key: false
// is certain, and true is the answer where there is no readable filter.
func (t *Table) MayContain(userKey []byte) bool { return true }
