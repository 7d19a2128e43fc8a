-- nova-compute was started as DevStack2 and later as devstack2: its service keeps the old letters, and its compute node and its instances have the new ones. Nova on MySQL finds each by
-- either. Right: clean, and `retire` and `rekey` find service, node and instances of the host by either spelling.
-- Seen: `trueup retire devstack2` finds no compute service, and `trueup retire DevStack2` no compute node and no instance.
-- Base: the recorded cloud `healthy`, with compute services that report.

-- in the database of cell1
UPDATE services SET host = 'DevStack2' WHERE host = 'devstack2' AND services.binary = 'nova-compute';
