// Command github-server serves a repository acme/app as a GitHub Enterprise
// server does, on loopback, for acceptance scripts. Below /_ it takes orders:
//
//	/_seen        the requests that came since this was last asked, one a line
//	/_fail/KIND   the next request fails: rate, secondary, moved or 401
package main

import (
	"encoding/pem"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/agent-cage/agent-cage/internal/githubserver"
)

func main() {
	token := flag.String("token", "", "the `token` to accept")
	urlFile := flag.String("url-file", "", "where to write the server's URL")
	caFile := flag.String("ca-file", "", "serve TLS, and write its certificate here")
	flag.Parse()
	if err := serve(*token, *urlFile, *caFile); err != nil {
		fmt.Fprintln(os.Stderr, "github-server:", err)
		os.Exit(1)
	}
}

func serve(token, urlFile, caFile string) error {
	github := githubserver.New("acme", "app", token)
	github.AddIssue("ann", "Old \x1b]0;owned\x07trouble", "It \x1b[31mbroke\u202e.\n", "bug")
	github.AddBranch("topic")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web := httptest.NewUnstartedServer(orders(github))
	_ = web.Listener.Close()
	web.Listener = l
	if caFile == "" {
		web.Start()
	} else {
		web.StartTLS()
		cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
		if err := os.WriteFile(caFile, cert, 0o600); err != nil {
			return err
		}
	}
	defer web.Close()
	// The name appears when the content is there.
	if err := os.WriteFile(urlFile+".new", []byte(web.URL), 0o600); err != nil {
		return err
	}
	if err := os.Rename(urlFile+".new", urlFile); err != nil {
		return err
	}
	// Whoever started it ends it.
	select {}
}

func orders(github *githubserver.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", github)
	mux.HandleFunc("/_seen", func(w http.ResponseWriter, _ *http.Request) {
		for _, s := range github.Seen() {
			fmt.Fprintln(w, s.Method, s.Path)
		}
	})
	mux.HandleFunc("/_fail/{kind}", func(w http.ResponseWriter, r *http.Request) {
		switch r.PathValue("kind") {
		case "rate":
			github.Fail(githubserver.RateLimited(http.StatusForbidden, time.Now().Add(10*time.Minute)))
		case "secondary":
			github.Fail(githubserver.SecondaryLimited(http.StatusForbidden, 60))
		case "moved":
			github.Fail(githubserver.Moved(http.StatusMovedPermanently, "http://127.0.0.2:1/api/v3/repos/acme/app/issues"))
		case "401":
			github.Fail(githubserver.Status(http.StatusUnauthorized, "Bad credentials"))
		default:
			http.Error(w, strings.TrimPrefix(r.URL.Path, "/_fail/"), http.StatusBadRequest)
		}
	})
	return mux
}
