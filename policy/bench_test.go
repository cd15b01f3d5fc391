package policy

import (
	"strings"
	"testing"
)

// BenchmarkClassify decides about typical commands, one an iteration.
func BenchmarkClassify(b *testing.B) {
	commands := []string{
		"sbox go test ./...", "git status", "sbox make 2>&1", "git add -A && git commit -m 'fix: a thing'",
		"sbox bash -c 'cd sub && make | tail -n 20'", "git log --oneline -5", "ls -la", "cat main.go | head",
		"npm test", "git diff HEAD~1 -- src/a.go",
	}
	w := world()
	for _, dir := range []string{"/home", "/home/u", "/home/u/projects", repo} {
		w.FS.(memFS)[dir+"/"] = "" // so that the test's file system need not search
	}
	c := New(w)
	calls := make([]Call, len(commands))
	for i, text := range commands {
		calls[i] = Command(text, repo)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Classify(calls[i%len(calls)])
	}
}

// BenchmarkSize shows that time grows with the text and no faster.
func BenchmarkSize(b *testing.B) {
	for name, n := range map[string]int{"1KiB": 1 << 10, "4KiB": 4 << 10, "16KiB": 16<<10 - 20, "1MiB": 1 << 20} {
		c := New(world())
		call := Command("sbox echo "+strings.Repeat("abc ", n/4), repo)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				c.Classify(call)
			}
		})
	}
}
