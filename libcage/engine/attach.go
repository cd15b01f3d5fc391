package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
)

// noDetachKeys is a key sequence that no terminal and no UTF-8 text sends.
// Without it the engine takes the default sequence, Ctrl-P Ctrl-Q, out of the
// input of a terminal: a lone Ctrl-P is withheld, the pair ends the attachment.
const noDetachKeys = "\xff,\xff,\xff,\xff"

// Attachment is the standard streams of a container or of an exec. Its methods
// may be called by several goroutines at once, Copy by one.
type Attachment struct {
	conn      net.Conn
	output    io.Reader
	tty       bool
	wrap      func(error) error
	closeOnce sync.Once
	closeErr  error
}

// Attach connects to the streams of a container (ContainerAttach). Called
// before Start, it misses nothing. tty is whether the container has a terminal:
// then output and error output are one stream.
func (c *Client) Attach(ctx context.Context, id string, tty bool) (*Attachment, error) {
	var response types.HijackedResponse
	err := c.call(ctx, "ContainerAttach", func() (err error) {
		response, err = c.api.ContainerAttach(ctx, id, container.AttachOptions{
			Stream: true, Stdin: true, Stdout: true, Stderr: true, DetachKeys: noDetachKeys,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.attachment(response, tty), nil
}

func (c *Client) attachment(response types.HijackedResponse, tty bool) *Attachment {
	return &Attachment{
		conn:   response.Conn,
		output: response.Reader,
		tty:    tty,
		wrap:   func(err error) error { return &UnreachableError{Endpoint: c.endpoint.Host, Err: err} },
	}
}

// Write sends p to standard input.
func (a *Attachment) Write(p []byte) (int, error) { return a.conn.Write(p) }

// Stdin is the writing side of standard input.
func (a *Attachment) Stdin() io.Writer { return a.conn }

// CloseStdin ends standard input; output goes on. A terminal gives its
// reader no end of file for it.
func (a *Attachment) CloseStdin() error {
	if half, ok := a.conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.New("the connection to the engine cannot be closed in one direction")
}

// Close ends the attachment; the container goes on. More than one call is fine.
func (a *Attachment) Close() error {
	a.closeOnce.Do(func() { a.closeErr = a.conn.Close() })
	return a.closeErr
}

// WriteError is an error of the caller's side of Copy.
type WriteError struct {
	// Stream is stdout or stderr.
	Stream string
	Err    error
}

func (e *WriteError) Error() string { return fmt.Sprintf("write %s: %v", e.Stream, e.Err) }

func (e *WriteError) Unwrap() error { return e.Err }

// Copy writes the output to stdout and stderr until it ends, in memory that
// does not grow. With a terminal all of it goes to stdout. It returns nil at
// the end of the output, a *WriteError if a writer failed, and an
// *UnreachableError if the connection broke. The output also ends, without
// an error, when the engine goes away: Wait tells.
func (a *Attachment) Copy(stdout, stderr io.Writer) error {
	if a.tty {
		return a.copyRaw(stdout)
	}
	return a.demultiplex(stdout, stderr)
}

const copyBuffer = 32 << 10

func (a *Attachment) copyRaw(stdout io.Writer) error {
	buf := make([]byte, copyBuffer)
	for {
		n, err := a.output.Read(buf)
		if n > 0 {
			if _, werr := stdout.Write(buf[:n]); werr != nil {
				return &WriteError{Stream: "stdout", Err: werr}
			}
		}
		if err != nil {
			return a.readError(err)
		}
	}
}

// demultiplex splits the engine's frames: a byte that names the stream, three
// zeros, the length in big endian, the bytes.
func (a *Attachment) demultiplex(stdout, stderr io.Writer) error {
	var header [8]byte
	buf := make([]byte, copyBuffer)
	for {
		if _, err := io.ReadFull(a.output, header[:]); err != nil {
			return a.readError(err)
		}
		var to io.Writer
		name := "stdout"
		switch header[0] {
		case 0, 1:
			to = stdout
		case 2:
			to, name = stderr, "stderr"
		default:
			return fmt.Errorf("the engine sent output of an unknown stream %d", header[0])
		}
		for left := int64(binary.BigEndian.Uint32(header[4:])); left > 0; {
			n, err := a.output.Read(buf[:min(left, copyBuffer)])
			left -= int64(n)
			if n > 0 {
				if _, werr := to.Write(buf[:n]); werr != nil {
					return &WriteError{Stream: name, Err: werr}
				}
			}
			if err != nil && left > 0 {
				return a.readError(unexpected(err))
			}
		}
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readError tells the end of the output from a broken connection. An engine
// that closes a socket with input on it that nobody read resets it: an end too.
func (a *Attachment) readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return a.wrap(err)
}
