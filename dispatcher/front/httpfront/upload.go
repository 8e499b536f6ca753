package httpfront

import (
	"errors"
	"io"
	"net/http"

	"github.com/agentreach/agent-reach/schemas/contract"
	"github.com/danielgtaylor/huma/v2"
)

// Upload is a body whose payload or result may be too large to be held: then it is read where it lies.
type Upload struct{ body io.Reader }

// Resolve serves huma, which does not read such a body.
func (u *Upload) Resolve(ctx huma.Context) []error {
	u.body = ctx.BodyReader()
	return nil
}

// upload tells an input with such a body from all others.
func (u *Upload) upload() {}

// release gives back the memory that the body takes.
func (u *Upload) release() {
	if file, isLarge := u.body.(*spooled); isLarge {
		file.release()
	}
}

// readUpload reads a message. Where its body is large, the value that makes it so is taken apart and read from where it is; else there is
// none.
func readUpload[T any](
	u *Upload, whole func([]byte) (*T, error), large func(io.ReaderAt, int64) (*T, *io.SectionReader, error),
) (*T, *io.SectionReader, error) {
	if file, isLarge := u.body.(*spooled); isLarge {
		if err := file.hold(passingCost); err != nil {
			return nil, nil, err
		}
		message, value, err := large(file.file, file.size)
		if !errors.Is(err, contract.ErrNoSkeleton) {
			return message, value, err
		}
	}
	data, err := io.ReadAll(u.body)
	switch {
	case err != nil:
		return nil, nil, unread(err)
	case len(data) == 0:
		return nil, nil, humaProblem(http.StatusBadRequest, "")
	}
	message, err := whole(data)
	return message, nil, err
}
