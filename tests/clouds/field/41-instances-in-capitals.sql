-- A host was renamed from DevStack1 to devstack1: nova-compute wrote its new name into its compute node, and the rows of older instances and moves keep the capitals. Nova on MySQL finds
-- all of them by either name (Launchpad 1866380). Right: clean on MySQL and MariaDB, and each command finds the host's instances by either spelling.
-- Seen: "cell1 has no compute node for host DevStack1" for each instance, exit 5 for good; "Nova has it on devstack2: find out on which host its guest is" of an unconfirmed resize.
-- Base: the recorded cloud `healthy`, with compute services that report.

-- in the database of cell1
UPDATE instances SET host = 'DevStack1', node = 'DEVSTACK1' WHERE host = 'devstack1';
UPDATE migrations SET source_compute = 'DevStack1', source_node = 'DEVSTACK1', dest_compute = 'DevStack2', dest_node = 'DEVSTACK2';
