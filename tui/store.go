package tui

import "sstool/inspect"

// newStoreLevel is everything of one store, a tab each.
func newStoreLevel(m *Model, s *inspect.MapStore) *level {
	return single(newTextScreen(s.Name, storeText(m, s)))
}
