package boxinit

import (
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// refuse tells all that wait for the engine why it does not come. Programs show
// the message as they show any answer of an engine.
func (e *engine) refuse(why error) {
	message := fmt.Sprintf("the container engine of the box: %v; the last lines of %s: %s", why, engineLog, e.log.tail())
	e.log.note(fmt.Sprintf("cage-init: the engine: %v", why))
	body, _ := json.Marshal(map[string]string{"message": message}) // strings never fail
	answer := fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	for pending(e.listener) {
		conn, _, err := unix.Accept4(e.listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if err != nil {
			continue
		}
		hear(conn)
		_, _ = unix.Write(conn, answer)
		unix.Close(conn)
	}
}

func pending(fd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n > 0 && err == nil
}

// hearTime is how long a request may take to arrive.
const hearTime = 200 * time.Millisecond

// hear reads what has been asked, as far as it is there: what is unread at the
// close of a connection keeps the answer from being read, too.
func hear(conn int) {
	buf := make([]byte, 64<<10)
	wait := hearTime
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(conn), Events: unix.POLLIN}}, int(wait.Milliseconds()))
		if err != nil || n == 0 {
			return
		}
		if got, err := unix.Read(conn, buf); err != nil || got <= 0 {
			return
		}
		wait = 0
	}
}
