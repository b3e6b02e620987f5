package doctor

import "sstool/inspect"

// hostChecks are about the machine that the state lies on.
func hostChecks() []Check {
	return []Check{
		{ID: "host.state-dir-lasts", Area: AreaHost, Title: "the state directory outlives a reboot", Checklist: true, needs: []need{needsState}, run: stateDirLasts},
	}
}

func stateDirLasts(f *facts, r *report) {
	dir := f.state.Path
	if why := inspect.Temporary(dir); why != "" {
		r.warn(dir, "the state lies %s", why).
			then("it is gone after a reboot or a clean-up, and everything is restored from the changelogs").
			do("set state.dir to a directory that lasts, such as /var/lib/kafka-streams")
		return
	}
	r.ok(dir, "the state directory is neither in memory nor under a temporary directory")
}
