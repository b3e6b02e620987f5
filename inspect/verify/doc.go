// Package verify holds a local store against its changelog, or against another
// copy of the store, row by row, in bounded memory; it only reads.
//
// Local rows and changelog records are brought into one form, an entry: the key
// of the row, and what the row says as hashes (entry.go). The entries of a
// task's store go through one table (internal/table), sorted by key, and each
// key is judged: the newest record up to the store's offset is what the row must
// be (judge.go; windows that keep duplicates: judge_seq.go; versioned stores:
// judge_versioned.go). What a difference looks like is fetched again afterwards,
// for the first few (show.go).
//
// The order of reading is what makes it right for a store that an application
// has open: its offset first, then its rows, then where the changelog ends. So
// no row is older than the offset, and none newer than the end.
package verify
