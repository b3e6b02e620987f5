//go:build !linux

package doctor

import "errors"

var errElsewhere = errors.New("only known on Linux")

func diskOf(string) (disk, error) { return disk{}, errElsewhere }

func networkDisk(string) string { return "" }

func ownersOf(string) (owners, error) { return owners{}, errElsewhere }

func memoryOf(int) (int64, string, error) { return 0, "", errElsewhere }

func watchersOf(int) []string { return nil }

func fileLimit(int) (limit, now int64, whose string, err error) { return 0, -1, "", errElsewhere }
