package install

import "strings"

// Diff shows what changes between two texts, line by line: removed ones with
// -, added ones with +, two lines of what is around them.
func Diff(before, after string) string {
	a, b := lines(before), lines(after)
	// common[i][j] is the length of the longest common part of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, "  "+a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	const around = 2
	var s strings.Builder
	for i, line := range out {
		for k := max(0, i-around); k <= min(len(out)-1, i+around); k++ {
			if out[k][0] != ' ' {
				s.WriteString(line + "\n")
				break
			}
		}
	}
	return s.String()
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
