package standby

import (
	"path/filepath"
	"time"

	"sstool/internal/files"
)

// Left says of a task how a follower that reads committed records left it: all
// stores flushed and closed. The time of its .checkpoint does not: that is since
// when a store may lack something, and earlier than the last flush.
type Left struct {
	Checkpoint time.Time `json:"checkpoint"` // time of the file; another one is another process's
	At         time.Time `json:"at"`
	Stores     []string  `json:"stores"` // that were followed
}

func leftFile(state, appID string) string {
	return filepath.Join(ownDir(state), "left-"+appID+".json")
}

// NoteLeft notes it by task.
func NoteLeft(state, appID string, tasks map[string]Left) error {
	return files.WriteJSON(leftFile(state, appID), tasks)
}

// LeftBy is what the last follower has noted; one that cannot be read is none.
func LeftBy(state, appID string) map[string]Left {
	var out map[string]Left
	if files.ReadJSON(leftFile(state, appID), &out) != nil {
		return nil
	}
	return out
}
