package broker

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Backup says what a backup holds: every stream of the house, each as it was at one moment. The ledger's moment is the first. A key
// or a body that was stored after it is in the backup and does no harm; one that was stored before it, and that a task needs, is there.
type Backup struct {
	Version int            `json:"v"` // of the format: 1
	TakenAt schemas.Time   `json:"taken_at"`
	Streams []BackupStream `json:"streams"` // the ledger first
}

// BackupStream is one stream of a backup.
type BackupStream struct {
	Name     string `json:"name"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	Last     uint64 `json:"last_sequence"`
}

// ErrBadBackup says of a file that it is no backup, or no longer a whole one.
var ErrBadBackup = errors.New("this is not a whole backup of Agent-Reach")

// ErrNotEmpty says that a broker has streams of the house already.
var ErrNotEmpty = errors.New("the broker is not empty")

const (
	backupVersion  = 1
	backupManifest = "manifest.json"
	backupStreams  = "streams/"
	maxManifest    = 1 << 20 // far above what a dozen streams need
	backupWarning  = "a backup holds payloads and results: keep it as you keep these"
)

// manifest is the file in a backup that describes the others.
type manifest struct {
	Backup
	Note      string              `json:"note"`
	Snapshots map[string]snapshot `json:"snapshots"` // by stream
}

// Backup writes all that the house keeps in the broker to w, while it is used. It takes as long as reading all of it does, and as
// much memory as a few pieces of it. An error leaves half a backup in w, which no Restore takes for a whole one.
func (c *Conn) Backup(ctx context.Context, w io.Writer) (*Backup, error) {
	names, err := c.houseStreams(ctx)
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	if !slices.Contains(names, ledgerStream) {
		return nil, schemas.NewError(schemas.NotFound, "NO_LEDGER", "there is nothing to save: the broker has no stream %s", ledgerStream)
	}
	archive := zip.NewWriter(w)
	all := manifest{
		Backup: Backup{Version: backupVersion, TakenAt: schemas.At(time.Now())}, Note: backupWarning,
		Snapshots: make(map[string]snapshot),
	}
	for _, name := range names {
		if err := c.save(ctx, archive, name, &all); err != nil {
			return nil, fmt.Errorf("save stream %s: %w", name, err)
		}
	}
	if err := writeManifest(archive, all); err != nil {
		return nil, err
	}
	return &all.Backup, archive.Close()
}

// houseStreams are the streams that are the house's, the ledger first.
func (c *Conn) houseStreams(ctx context.Context) ([]string, error) {
	lister := c.js.StreamNames(ctx)
	var names []string
	for name := range lister.Name() {
		if ofTheHouse(name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(-cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	return names, lister.Err()
}

func ofTheHouse(stream string) bool {
	stream = strings.TrimPrefix(strings.TrimPrefix(stream, "KV_"), "OBJ_")
	return stream == ledgerStream || strings.HasPrefix(stream, ledgerStream+"_")
}

func rank(stream string) int {
	if stream == ledgerStream {
		return 1
	}
	return 0
}

func (c *Conn) save(ctx context.Context, archive *zip.Writer, stream string, all *manifest) error {
	file, err := archive.CreateHeader(&zip.FileHeader{Name: backupStreams + stream, Method: zip.Store, Modified: all.TakenAt.Time})
	if err != nil {
		return err
	}
	taken, err := c.takeSnapshot(ctx, stream, file)
	if err != nil {
		return err
	}
	state, err := taken.state()
	if err != nil {
		return err
	}
	all.Snapshots[stream] = taken
	all.Streams = append(all.Streams, BackupStream{Name: stream, Messages: state.Messages, Bytes: state.Bytes, Last: state.Last})
	return nil
}

func (s snapshot) state() (state streamState, err error) {
	if err = json.Unmarshal(s.State, &state); err != nil {
		err = fmt.Errorf("read the snapshot's state: %w", err)
	}
	return state, err
}

func writeManifest(archive *zip.Writer, all manifest) error {
	file, err := archive.CreateHeader(&zip.FileHeader{Name: backupManifest, Method: zip.Store, Modified: all.TakenAt.Time})
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	encoder := json.NewEncoder(file)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// Restore puts a backup of size bytes into a broker that has no stream of the house yet, with as many copies of each stream as the
// connection's Replicas say. The backup is read once, checked, before anything is written: a file that is no whole backup is
// ErrBadBackup, a broker that has streams already is ErrNotEmpty, and both leave all as it was. After another error the broker may
// hold a part: it must be emptied before the next try.
func (c *Conn) Restore(ctx context.Context, r io.ReaderAt, size int64) (*Backup, error) {
	archive, all, err := openBackup(r, size)
	if err != nil {
		return nil, err
	}
	names, err := c.houseStreams(ctx)
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	if len(names) > 0 {
		return nil, fmt.Errorf("%w: it has %s", ErrNotEmpty, strings.Join(names, ", "))
	}
	for _, s := range all.Streams {
		if err := c.restoreStream(ctx, archive, s, all.Snapshots[s.Name]); err != nil {
			return nil, fmt.Errorf("restore stream %s: %w", s.Name, err)
		}
	}
	return &all.Backup, nil
}

// openBackup reads a backup to its end, which checks the sums of all its files.
func openBackup(r io.ReaderAt, size int64) (*zip.Reader, *manifest, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrBadBackup, err)
	}
	all, err := readManifest(archive)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range all.Streams {
		if err := checkFile(archive, s.Name); err != nil {
			return nil, nil, fmt.Errorf("%w: %s: %w", ErrBadBackup, s.Name, err)
		}
	}
	return archive, all, nil
}

func readManifest(archive *zip.Reader) (*manifest, error) {
	file, err := archive.Open(backupManifest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadBackup, err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxManifest)) // to its end, which checks its sum
	if err != nil {
		return nil, fmt.Errorf("%w: read the manifest: %w", ErrBadBackup, err)
	}
	all := new(manifest)
	if err := json.Unmarshal(text, all); err != nil {
		return nil, fmt.Errorf("%w: read the manifest: %w", ErrBadBackup, err)
	}
	if all.Version != backupVersion {
		return nil, fmt.Errorf("the backup is of version %d, which a later release has written; this one reads version %d", all.Version, backupVersion)
	}
	if len(all.Streams) == 0 || all.Streams[0].Name != ledgerStream {
		return nil, fmt.Errorf("%w: it does not begin with the ledger", ErrBadBackup)
	}
	return all, nil
}

func checkFile(archive *zip.Reader, stream string) error {
	file, err := archive.Open(backupStreams + stream)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = io.Copy(io.Discard, file)
	return err
}

// restoreStream restores one stream, and sees that it is the one that was saved. It may have fewer messages: some have ended since.
func (c *Conn) restoreStream(ctx context.Context, archive *zip.Reader, saved BackupStream, s snapshot) error {
	file, err := archive.Open(backupStreams + saved.Name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if s.Config, err = withReplicas(s.Config, c.cfg.Replicas); err != nil {
		return err
	}
	state, err := c.putBack(ctx, saved.Name, s, file)
	if err != nil {
		return err
	}
	if state.Last != saved.Last || state.Messages > saved.Messages {
		return fmt.Errorf("it ends at sequence %d with %d messages, and was saved at %d with %d",
			state.Last, state.Messages, saved.Last, saved.Messages)
	}
	return nil
}

// withReplicas changes nothing else of a stream's configuration.
func withReplicas(config json.RawMessage, replicas int) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(config, &members); err != nil {
		return nil, fmt.Errorf("read the saved configuration: %w", err)
	}
	members["num_replicas"] = fmt.Appendf(nil, "%d", replicas)
	return json.Marshal(members)
}
