// Package snapshot keeps snapshots of state stores in a bucket: a directory
// (file://) or an S3-compatible object store (s3://). It is the only package
// that imports gocloud.dev/blob and filippo.io/age. It knows files by name and
// hash; what a task, a store or an offset means is its callers' (restore/snapshots).
//
// # Layout
//
//	objects/<space>/<2 hex>/<64 hex>        content, named by the SHA-256 of what it is when plain
//	snapshots/<application.id>/<id>.json    a manifest: what a snapshot consists of
//	pending/<id>.json                       the marker of a push that is under way: what it will name
//	pruning/<id>.json                       the marker of a prune that is under way: what it may delete
//	condemned.json                          what the last prune found unnamed, and since when
//
// The space is "plain", or "age-" and a fingerprint of the recipients: content
// that was encrypted for others is never reused. An id begins with the time, so
// names sort by it. SST files never change, so content is stored once; a
// manifest is written last and never changed: without it a snapshot is not there.
//
// # Why prune never takes what a push reuses
//
// The bucket is assumed to be linearizable per object and in its listings, as S3
// has been since 2020 and a directory is. What is deleted are objects only prune
// deletes, and only those no manifest names; a manifest, once there, is complete
// unless an object it names is deleted afterwards or was being deleted meanwhile.
//
// A push (1) hashes everything, (2) writes its marker with all names it will
// use, (3) lists the markers of prunes, and waits until each one that names any
// of them is gone or dead, (4) lists the objects and uploads what is missing,
// (5) writes the manifest, (6) removes its marker. A prune (a) writes its marker
// with all names it may delete, (b) reads the markers of pushes, (c) then the
// manifests, (d) deletes what neither names, (e) removes its marker.
//
// Each writes its own marker before it looks for the other's. So either (2) was
// before (b), and the prune reads the marker, or the manifest that replaced it,
// as markers are read before manifests and removed after manifests are written;
// or (2) was after (b), hence after (a), and (3) finds the prune's marker and
// waits until it has deleted what it will. Then (4) sees what is left.
//
// Markers are leases, as either side may be killed. They are rewritten all the
// time. A prune takes a push for dead whose marker was not written for a whole
// lease, measured between two times that the store itself has set. A push that
// was not able to rewrite its marker for half a lease (a machine that slept)
// goes back to (2) before it writes the manifest, and the request that writes it
// is given a quarter of a lease at most: it is never taken for dead by a prune
// that it has not waited for. A push takes a prune for dead whose marker it saw
// unchanged for a whole lease of its own time; a prune stops deleting when it
// was not able to rewrite its marker for half a lease, and each of its requests
// is given a quarter. So no clocks are compared, only the lengths of seconds.
//
// On top of that, an object is deleted only when an earlier prune found it
// unnamed too, a grace period ago: who pulls a snapshot that is pruned meanwhile
// has that long, and so has a push against all assumptions. What a killed push
// has uploaded is reused by the next one, or is unnamed and goes the same way.
package snapshot
