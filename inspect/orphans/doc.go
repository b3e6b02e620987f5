// Package orphans finds what no application uses any more: internal topics,
// committed offsets, state directories, lines of .checkpoint files, segments.
// It decides by exact sets (what a topology derives, what running groups read,
// which ids there are), never by the beginning of a name alone, and says so
// where that is not enough. It reads; what it finds is deleted by package
// migrate.
package orphans
