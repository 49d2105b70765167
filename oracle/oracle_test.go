package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every testdata/*.yaml is a snapshot that says itself, in comments, which flags it wants and what must come out.
func TestSnapshots(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no snapshots", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			flags, want := expectations(t, file)
			args := append([]string{"plan", "-f", file, "--instance-types", "testdata/types.json", "-o", "json"}, flags...)
			out, warn, code := call("", args...)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, warn)
			}
			var p plan
			if err := json.Unmarshal([]byte(out), &p); err != nil {
				t.Fatal(err)
			}
			if got := summarize(p); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			if all := p.Summary.Placed + len(p.Unschedulable) + len(p.Deferred); all != p.Summary.Pods {
				t.Errorf("%d pods, but the plan speaks of %d", p.Summary.Pods, all)
			}
		})
	}
}

func call(in string, args ...string) (out, warn string, code int) {
	var outBuffer, warnBuffer bytes.Buffer
	code = run(args, strings.NewReader(in), &outBuffer, &warnBuffer)
	return outBuffer.String(), warnBuffer.String(), code
}

func expectations(t *testing.T, file string) (flags []string, want string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "# flags: "); ok {
			flags = strings.Fields(rest)
		}
		if rest, ok := strings.CutPrefix(line, "# want: "); ok {
			want += rest
		}
	}
	return flags, want
}

func summarize(p plan) string {
	var out strings.Builder
	for _, c := range p.Claims {
		zone := "any"
		for _, r := range c.Requirements {
			if r.Key == "topology.kubernetes.io/zone" {
				zone = strings.Join(r.Values, ",")
			}
		}
		cpu := c.Requests["cpu"]
		fmt.Fprintf(&out, "claim %s %s cheapest=%s price=%v zone=%s cpu=%s\n",
			c.NodePool, strings.Join(c.Pods, ","), c.InstanceTypes[0], c.Price, zone, cpu.String())
	}
	for _, e := range p.Existing {
		fmt.Fprintf(&out, "existing node=%s claim=%s %s\n", e.Node, e.NodeClaim, strings.Join(e.Pods, ","))
	}
	for _, u := range p.Unschedulable {
		fmt.Fprintf(&out, "unschedulable %s\n", u.Pod)
	}
	for _, d := range p.Deferred {
		fmt.Fprintf(&out, "deferred %s %s\n", d.Pod, d.Reasons[0].ID)
	}
	return out.String()
}

func TestBadInputIsNamed(t *testing.T) {
	for _, test := range []struct {
		name, document string
		parts          []string
	}{
		{"wrong type", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: 7}\n", []string{"bad.yaml", "document 1", "Pod", "containers"}},
		{"no node class", "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {template: {spec: {}}}\n", []string{"NodePool p", "nodeClassRef"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bad.yaml")
			if err := os.WriteFile(file, []byte(test.document), 0o644); err != nil {
				t.Fatal(err)
			}
			_, warn, code := call("", "plan", "-f", file, "--instance-types", "testdata/types.json")
			if code != exitBadInput {
				t.Errorf("exit code %d", code)
			}
			for _, part := range test.parts {
				if !strings.Contains(warn, part) {
					t.Errorf("%q does not name %s", warn, part)
				}
			}
		})
	}
}

func TestBenchReportsMediansAndRanges(t *testing.T) {
	out, warn, code := call("", "bench", "-f", "testdata/pending.yaml", "--instance-types", "testdata/types.json", "--runs", "3")
	if code != 0 {
		t.Fatal(warn)
	}
	var result struct {
		Pods, Placed, Runs int
		Nodes              float64
		PriceRange         []float64
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(result), "{4 3 3 2 [0.30000000000000004 0.30000000000000004]}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A pod that selects on a label which only the provider can promise.
const selective = `"objects": [
	{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": {"template": {"spec": {"nodeClassRef": {"group": "example.com", "kind": "AnyClass", "name": "x"}}}}},
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"nodeSelector": {"example.com/disk": "fast"}, "containers": [{"name": "main"}]}}]`

func typesWithDisk(extra string) string {
	return `"instanceTypes": {` + extra + `"instanceTypes": [{"name": "t", "capacity": {"cpu": "2", "memory": "4Gi", "pods": "10"},
		"requirements": [{"key": "example.com/disk", "operator": "In", "values": ["fast"]}],
		"offerings": [{"price": 1, "available": true, "requirements": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]}]}]}`
}

// Karpenter keeps the provider's labels in global variables; one scenario's must not leak into the next.
func TestBatchKeepsScenariosApart(t *testing.T) {
	line := func(id, rest string) string {
		return strings.ReplaceAll(`{"id": "`+id+`", `+rest+"}", "\n", " ") + "\n"
	}
	in := line("learned", selective+","+typesWithDisk("")) +
		line("declared otherwise", selective+","+typesWithDisk(`"wellKnownLabels": [], `)) +
		line("learned again", selective+","+typesWithDisk("")) +
		line("from files", `"snapshot": ["testdata/reserved.yaml"], "instanceTypes": "testdata/types.json"`) +
		line("with a flag", `"snapshot": ["testdata/min-values-best-effort.yaml"], "instanceTypes": "testdata/types.json", "flags": {"min-values-policy": "BestEffort"}`)
	out, warn, code := call(in, "batch", "--runs", "2")
	if code != 0 {
		t.Fatal(warn)
	}
	var got strings.Builder
	for text := range strings.Lines(out) {
		var a answer
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s: %d plans, placed %d\n", a.ID, len(a.Plans), a.Plans[1].Summary.Placed)
	}
	want := `"learned": 2 plans, placed 1
"declared otherwise": 2 plans, placed 0
"learned again": 2 plans, placed 1
"from files": 2 plans, placed 1
"with a flag": 2 plans, placed 1
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

func TestBatchSurvivesBadScenarios(t *testing.T) {
	in := `{"id": 1, "snapshot": ["testdata/no-such-file"], "instanceTypes": "testdata/types.json"}
{"id": 2, "instanceTypes": "testdata/types.json", "flags": {"pending": "sometimes"}}
not json

{"id": 3, "snapshot": ["testdata/pending.yaml"], "instanceTypes": "testdata/types.json"}`
	out, _, code := call(in, "batch", "--runs", "1")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var got strings.Builder
	for text := range strings.Lines(out) {
		var a answer
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s plans=%d error=%t\n", a.ID, len(a.Plans), a.Error != "")
	}
	if want := "1 plans=0 error=true\n2 plans=0 error=true\nnull plans=0 error=true\n3 plans=1 error=false\n"; got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}
