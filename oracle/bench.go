package main

import (
	"encoding/json"
	"io"
	"runtime"
	"slices"

	"sigs.k8s.io/karpenter/pkg/operator/options"
)

// runBench solves one snapshot several times. Every run starts from the same state, since Karpenter's scheduler keeps
// nothing between passes; the plans still differ a little, so nodes and price come with their range.
func runBench(args []string, in io.Reader, out, warn io.Writer) error {
	input, runs := input{}, 0
	s, err := parseSettings("bench", args, warn, func(flags *options.FlagSet) {
		input.register(flags)
		flags.IntVar(&runs, "runs", 5, "how often to solve")
	})
	if err != nil {
		return err
	}
	p, err := input.planner(s, in, warn)
	if err != nil {
		return err
	}
	var seconds, allocations, bytes, nodes, prices []float64
	var last plan
	for range max(runs, 1) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		sol, err := p.solve()
		if err != nil {
			return err
		}
		runtime.ReadMemStats(&after)
		last = newPlan(sol)
		seconds = append(seconds, sol.seconds)
		allocations = append(allocations, float64(after.Mallocs-before.Mallocs))
		bytes = append(bytes, float64(after.TotalAlloc-before.TotalAlloc))
		nodes = append(nodes, float64(last.Summary.Claims))
		prices = append(prices, last.Summary.Price)
	}
	return json.NewEncoder(out).Encode(map[string]any{
		"pods": last.Summary.Pods, "placed": last.Summary.Placed, "existing": len(last.Existing), "runs": len(seconds),
		"seconds": median(seconds), "allocations": median(allocations), "bytes": median(bytes),
		"nodes": median(nodes), "nodesRange": []float64{slices.Min(nodes), slices.Max(nodes)},
		"price": median(prices), "priceRange": []float64{slices.Min(prices), slices.Max(prices)},
	})
}

// median is the upper one of an even number of values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
