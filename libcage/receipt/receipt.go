// Package receipt keeps a record of every run: one JSON file each, for the
// user alone. docs/receipts.md describes the file.
package receipt

import (
	"time"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// Schema is the number of the format that this package writes. It grows when
// a field changes its meaning or goes away, not when one is added.
const Schema = 1

// Receipt is the record of one run. It holds names of variables and none of
// their values; see Hide for those that a user has put elsewhere.
type Receipt struct {
	Schema int `json:"schema"`
	// ID is unique among the receipts of a user and sorts by time. Write sets
	// it if it is empty.
	ID string `json:"id"`
	// Versions are those of what took part in the run.
	Versions Versions `json:"versions"`
	// Started and Ended are the launcher's clock at its first and last moment.
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	// Plan is nil if the run ended before there was one.
	Plan *plan.Plan `json:"plan,omitempty"`
	// Images are those that the box stands on, the harness's own first.
	Images []Image `json:"images,omitempty"`
	// Engine is where the box ran.
	Engine Engine `json:"engine"`
	// Phases are the parts of the run in order.
	Phases []Phase `json:"phases,omitempty"`
	// Exit is how the launcher ended.
	Exit Exit `json:"exit"`
	// Network is nil if the engine was not asked in time, or did not tell: it
	// does not for the host's network, nor once the box has ended.
	Network *Network `json:"network,omitempty"`
}

// Versions are the versions of what took part in a run; empty if unknown.
type Versions struct {
	// Launcher is that of the launcher's binary.
	Launcher string `json:"launcher"`
	// Harness is that of the harness in the image.
	Harness string `json:"harness,omitempty"`
	// Engine is the engine's own, API the one spoken with it.
	Engine string `json:"engine,omitempty"`
	API    string `json:"api,omitempty"`
	// Kernel is the engine's.
	Kernel string `json:"kernel,omitempty"`
}

// Image is an image by name and by content.
type Image struct {
	Ref string `json:"ref"`
	ID  string `json:"id"`
	// Version is the hash of what the image was made from, its parent's ID
	// included.
	Version string `json:"version,omitempty"`
}

// Engine is an engine as it was reached.
type Engine struct {
	// Endpoint is a URL, Source what named it.
	Endpoint string `json:"endpoint,omitempty"`
	Source   string `json:"source,omitempty"`
	// ID is the engine's own.
	ID string `json:"id,omitempty"`
}

// Phase is a part of a run.
type Phase struct {
	Name string `json:"name"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// Exit is how a launcher ended.
type Exit struct {
	// Status is the launcher's exit status.
	Status int `json:"status"`
	// Fault is nil if the status is the harness's own.
	Fault *Fault `json:"fault,omitempty"`
	// Signal is the last one that the launcher was sent: "SIGTERM".
	Signal string `json:"signal,omitempty"`
	// OOMKilled says that the harness ended with 137 and something in the box
	// had been killed for want of memory.
	OOMKilled bool `json:"oomKilled,omitempty"`
}

// Fault is why a run did not end with the harness's own status, as in the
// fault line.
type Fault struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// Network is what the box has moved, in bytes, all its interfaces together.
type Network struct {
	// At is when the engine counted: seconds before the box's end.
	At            time.Time `json:"at"`
	ReceivedBytes uint64    `json:"receivedBytes"`
	SentBytes     uint64    `json:"sentBytes"`
}
