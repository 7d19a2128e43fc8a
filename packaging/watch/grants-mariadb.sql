-- What 'trueup watch' (and audit, report, snapshot, plan) may do in MariaDB or MySQL: read, and only these tables.
-- Replace the password, and the host pattern by the address that Trueup runs on. A site with several cells repeats
-- the part "a cell" for each of their databases. cell0 is a cell.
CREATE USER IF NOT EXISTS 'trueup'@'%' IDENTIFIED BY 'a-password';

-- Nova's API database. The column database_connection of cell_mappings holds the URLs of Nova's own databases, with
-- their passwords, and must be readable: guard this account as you guard nova.conf. The column transport_url, with the
-- passwords of the message queues, is not read.
GRANT SELECT (id, uuid, name, database_connection, disabled) ON nova_api.cell_mappings TO 'trueup'@'%';
GRANT SELECT ON nova_api.build_requests TO 'trueup'@'%';
GRANT SELECT ON nova_api.host_mappings TO 'trueup'@'%';
GRANT SELECT ON nova_api.instance_mappings TO 'trueup'@'%';
GRANT SELECT ON nova_api.request_specs TO 'trueup'@'%';
GRANT SELECT ON nova_api.aggregates TO 'trueup'@'%';
GRANT SELECT ON nova_api.aggregate_hosts TO 'trueup'@'%';
GRANT SELECT ON nova_api.aggregate_metadata TO 'trueup'@'%';

-- a cell
GRANT SELECT ON nova_cell0.instances TO 'trueup'@'%';
GRANT SELECT ON nova_cell0.shadow_instances TO 'trueup'@'%';
GRANT SELECT ON nova_cell0.instance_extra TO 'trueup'@'%';
GRANT SELECT ON nova_cell0.instance_info_caches TO 'trueup'@'%';
GRANT SELECT ON nova_cell0.instance_system_metadata TO 'trueup'@'%';
GRANT SELECT ON nova_cell0.block_device_mapping TO 'trueup'@'%';
GRANT SELECT ON nova_cell0.migrations TO 'trueup'@'%';
GRANT SELECT ON nova_cell0.shadow_migrations TO 'trueup'@'%';
GRANT SELECT ON nova_cell0.compute_nodes TO 'trueup'@'%';
GRANT SELECT ON nova_cell0.services TO 'trueup'@'%';
GRANT SELECT ON nova_cell0.pci_devices TO 'trueup'@'%';
-- end of a cell

-- Placement's database, for --placement-database.
GRANT SELECT ON placement.resource_providers TO 'trueup'@'%';
GRANT SELECT ON placement.resource_classes TO 'trueup'@'%';
GRANT SELECT ON placement.inventories TO 'trueup'@'%';
GRANT SELECT ON placement.traits TO 'trueup'@'%';
GRANT SELECT ON placement.resource_provider_traits TO 'trueup'@'%';
GRANT SELECT ON placement.placement_aggregates TO 'trueup'@'%';
GRANT SELECT ON placement.resource_provider_aggregates TO 'trueup'@'%';
GRANT SELECT ON placement.allocations TO 'trueup'@'%';
GRANT SELECT ON placement.consumers TO 'trueup'@'%';
GRANT SELECT ON placement.projects TO 'trueup'@'%';
GRANT SELECT ON placement.users TO 'trueup'@'%';
