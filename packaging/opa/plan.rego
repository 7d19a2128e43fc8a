# SPDX-License-Identifier: Apache-2.0
# METADATA
# title: What a plan of Trueup may do before somebody has read it
# description: An example. `deny` refuses a plan, `warn` only speaks. Change the numbers to yours.
package main

import rego.v1

# How many subjects a plan may touch, and what may change without a person.
subjects_max := 10

allowed_kinds := {"allocations", "traits", "aggregates"}

allowed_defects := {
	"dead-consumer",
	"doubled-allocation",
	"evacuation-residue",
	"migration-residue",
	"missing-allocation",
	"orphaned-allocation",
	"wrong-amount",
	"wrong-provider",
}

# Hosts that nobody repairs today: a change of their hardware, or a support case.
frozen_hosts := {"compute-frozen"}

deny contains msg if {
	input.plan.format != 1
	msg := sprintf("the plan has format %v, and this policy knows format 1", [input.plan.format])
}

deny contains msg if {
	subjects := {finding.subject.uuid | some finding in input.plan.findings}
	count(subjects) > subjects_max
	msg := sprintf("the plan touches %d subjects, and %d are allowed", [count(subjects), subjects_max])
}

deny contains msg if {
	some step in input.plan.steps
	some change in step.changes
	not change.target.type in allowed_kinds
	msg := sprintf("step %s changes what a person has to look at: %s", [step.id, change.target.type])
}

deny contains msg if {
	some finding in input.plan.findings
	not finding.defect in allowed_defects
	msg := sprintf("%s of %s is not repaired without a person", [finding.defect, finding.subject.uuid])
}

deny contains msg if {
	some finding in input.plan.findings
	finding.where in frozen_hosts
	msg := sprintf("host %s is frozen", [finding.where])
}

# Somebody may have started the instance, or its host may fill up, before the plan is applied.
warn contains msg if {
	some effect in input.plan.effects
	some host in effect.hosts
	host.used_after > host.capacity
	msg := sprintf("%s would have more %s in use than its capacity", [host.name, host.resource_class])
}
