package main

import (
	"context"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/state/cost"
)

// method is one of Karpenter's, with our word for it.
type method struct {
	disruption.Method
	name string
}

// commands asks Karpenter's methods in its order, as its disruption controller does, and returns what the first of them
// that wants anything wants.
//
// Nothing is waited for and nothing is written. Pools of fixed size are left alone: their instances are replaced one by
// one without looking at pods, so there is nothing to compare.
func (p *planner) commands() ([]disruption.Command, string, error) {
	queue := disruption.NewQueue(p.store, silent{}, p.cluster, p.clock, p.provisioner)
	prices, err := p.trackedCost()
	if err != nil {
		return nil, "", err
	}
	for _, m := range p.methods(queue) {
		candidates, totals, err := disruption.GetCandidatesWithTotals(p.ctx, p.cluster, p.store, silent{}, p.clock,
			p.provider, m.ShouldDisrupt, m.Class(), queue, prices)
		if err != nil {
			return nil, "", err
		}
		if len(candidates) == 0 {
			continue
		}
		if weighing, ok := m.Method.(disruption.NodePoolTotalsSetter); ok {
			weighing.SetNodePoolTotals(totals)
		}
		budgets, err := disruption.BuildDisruptionBudgetMapping(p.ctx, p.cluster, p.clock, p.store, p.provider, silent{}, m.Reason())
		if err != nil {
			return nil, "", err
		}
		found, err := m.ComputeCommands(p.ctx, budgets, candidates...)
		if err != nil {
			return nil, "", err
		}
		var wanted []disruption.Command
		for _, c := range found {
			if c.Decision() != disruption.NoOpDecision {
				wanted = append(wanted, c)
			}
		}
		if len(wanted) > 0 {
			return wanted, m.name, nil
		}
	}
	return nil, "", nil
}

func (p *planner) methods(queue *disruption.Queue) []method {
	c := disruption.MakeConsolidation(p.clock, p.cluster, p.store, p.provisioner, p.provider, silent{}, queue)
	valid := disruption.WithValidator(unchanged{})
	return []method{
		{disruption.NewEmptiness(c, valid), "emptiness"},
		{disruption.NewDrift(p.store, p.cluster, p.provisioner, silent{}, p.clock), "drift"},
		{disruption.NewMultiNodeConsolidation(c, valid), "multiNodeConsolidation"},
		{disruption.NewSingleNodeConsolidation(c, valid), "singleNodeConsolidation"},
	}
}

// trackedCost is what Karpenter's NodeClaim informer keeps for the Balanced policy.
func (p *planner) trackedCost() (*cost.ClusterCost, error) {
	tracked := cost.NewClusterCost(p.ctx, p.provider, p.store)
	var failed error
	each(p.store, func(claim *karpv1.NodeClaim) {
		pool := claim.Labels[karpv1.NodePoolLabelKey]
		if has[*karpv1.NodePool](p.store, pool) {
			if err := tracked.UpdateNodeClaim(p.ctx, claim); err != nil {
				failed = err
			}
		}
	})
	return tracked, failed
}

// unchanged stands for Karpenter's second look at a command after 15 seconds: a snapshot stays as it is.
type unchanged struct{}

func (unchanged) Validate(_ context.Context, c disruption.Command, _ time.Duration) (disruption.Command, error) {
	return c, nil
}
