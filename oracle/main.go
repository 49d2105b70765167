// Oracle answers "what would Karpenter do?" for a cluster on disk, with Karpenter's own scheduler.
//
// Nothing about scheduling is decided in this program. It turns files into what Karpenter's scheduler expects
// (snapshot.go, store.go, instancetypes.go), lets it solve (solve.go) and prints the outcome (plan.go).
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/karpenter/pkg/operator/options"
)

const usage = `usage:
  oracle plan    -f PATH… --instance-types FILE [settings] [-o json]     one plan
  oracle disrupt -f PATH… --instance-types FILE [settings] [--converge]  which instances go, once or until none goes
  oracle bench   -f PATH… --instance-types FILE [settings] [--runs N]    medians of N plans: time, allocations, nodes, price
  oracle batch [--runs N]                                                one scenario per line in, N answers per line out
`

// The exit codes of "joiner plan".
const (
	exitBadInput    = 2
	exitWouldChange = 3
)

func main() {
	log.SetLogger(logr.Discard())
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, in io.Reader, out, warn io.Writer) int {
	var code int
	var err error
	switch {
	case len(args) > 0 && args[0] == "plan":
		code, err = runPlan(args[1:], in, out, warn)
	case len(args) > 0 && args[0] == "disrupt":
		err = runDisrupt(args[1:], in, out, warn)
	case len(args) > 0 && args[0] == "bench":
		err = runBench(args[1:], in, out, warn)
	case len(args) > 0 && args[0] == "batch":
		err = runBatch(args[1:], in, out, warn)
	default:
		fmt.Fprint(warn, usage)
		return exitBadInput
	}
	if err != nil {
		fmt.Fprintf(warn, "oracle: %v\n", err)
		return exitBadInput
	}
	return code
}

func runPlan(args []string, in io.Reader, out, warn io.Writer) (int, error) {
	input, detailedExitCode := input{}, false
	s, err := parseSettings("plan", args, warn, func(flags *options.FlagSet) {
		input.register(flags)
		flags.Func("o", "output form; only json", func(form string) error {
			if form != "json" {
				return errors.New("only json")
			}
			return nil
		})
		flags.BoolVar(&detailedExitCode, "detailed-exitcode", false, "exit 3 when something would change")
	})
	if err != nil {
		return 0, err
	}
	p, err := input.planner(s, in, warn)
	if err != nil {
		return 0, err
	}
	answer, err := p.plan()
	if err != nil {
		return 0, err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(answer); err != nil {
		return 0, err
	}
	if detailedExitCode && answer.Summary.Claims > 0 {
		return exitWouldChange, nil
	}
	return 0, nil
}

func runDisrupt(args []string, in io.Reader, out, warn io.Writer) error {
	input, converge := input{}, false
	s, err := parseSettings("disrupt", args, warn, func(flags *options.FlagSet) {
		input.register(flags)
		flags.BoolVar(&converge, "converge", false, "carry commands out and ask again, until there are none")
	})
	if err != nil {
		return err
	}
	cluster, provider, err := input.read(in, warn)
	if err != nil {
		return err
	}
	answer, err := disrupt(s, cluster, provider, converge)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	return encoder.Encode(answer)
}

// parseSettings reads Karpenter's own flags and the few of ours, besides what register adds.
func parseSettings(command string, args []string, warn io.Writer, register func(*options.FlagSet)) (*settings, error) {
	s := &settings{clock: clock.RealClock{}}
	flags := &options.FlagSet{FlagSet: flag.NewFlagSet(command, flag.ContinueOnError)}
	flags.SetOutput(warn)
	s.karpenter.AddFlags(flags)
	flags.StringVar(&s.pending, "pending", pendingUnbound, "which pods to place: unbound or unschedulable")
	flags.BoolVar(&s.reservedFallback, "reserved-fallback", false, "let pods fall back when reserved capacity is used up")
	flags.Func("now", "the time of the snapshot, such as 2026-04-01T00:00:00Z; the real time if not given", func(text string) error {
		now, err := time.Parse(time.RFC3339, text)
		s.clock = clocktesting.NewFakeClock(now)
		return err
	})
	register(flags)
	if err := s.karpenter.Parse(flags, spreadPaths(args)...); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag", flags.Arg(0))
	}
	if s.pending != pendingUnbound && s.pending != pendingUnschedulable {
		return nil, fmt.Errorf("--pending is %q: use %s or %s", s.pending, pendingUnbound, pendingUnschedulable)
	}
	return s, nil
}

// input is where all commands but batch read from.
type input struct {
	paths         paths
	instanceTypes string
}

func (i *input) register(flags *options.FlagSet) {
	flags.Var(&i.paths, "f", "snapshot file, folder or -; repeat or list several")
	flags.StringVar(&i.instanceTypes, "instance-types", "", "instance type file")
}

func (i *input) planner(s *settings, in io.Reader, warn io.Writer) (*planner, error) {
	cluster, provider, err := i.read(in, warn)
	if err != nil {
		return nil, err
	}
	return newPlanner(s, cluster, provider)
}

func (i *input) read(in io.Reader, warn io.Writer) (*store, *fileProvider, error) {
	if len(i.paths) == 0 || i.instanceTypes == "" {
		return nil, nil, errors.New("-f and --instance-types are both needed")
	}
	raw, err := os.ReadFile(i.instanceTypes)
	if err != nil {
		return nil, nil, err
	}
	provider, err := parseInstanceTypes(i.instanceTypes, raw)
	if err != nil {
		return nil, nil, err
	}
	snapshot := newSnapshot()
	if err := snapshot.readPaths(i.paths, in); err != nil {
		return nil, nil, err
	}
	cluster, err := snapshot.finish(warn)
	return cluster, provider, err
}

type paths []string

func (p *paths) String() string         { return strings.Join(*p, " ") }
func (p *paths) Set(value string) error { *p = append(*p, value); return nil }

// spreadPaths turns `-f a b` into `-f a -f b`, which is what Go's flag package understands.
func spreadPaths(args []string) []string {
	var spread []string
	listing, first := false, false
	for _, arg := range args {
		switch {
		case arg == "-f" || arg == "--f":
			listing, first = true, true
		case strings.HasPrefix(arg, "-") && arg != "-":
			listing = false
		case listing && !first:
			spread = append(spread, "-f")
		default:
			first = false
		}
		spread = append(spread, arg)
	}
	return spread
}
