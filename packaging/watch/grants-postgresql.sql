-- What 'trueup watch' (and audit, report, snapshot, plan) may do in PostgreSQL: read, and only these tables. For psql, as
-- an administrator: psql --file grants-postgresql.sql
-- Replace the password. A site with several cells repeats the part "a cell" for each of their databases. cell0 is a cell.
-- Before PostgreSQL 15 every account may also make tables of its own in a database; from 15 it may not.
CREATE ROLE trueup LOGIN PASSWORD 'a-password';

\connect nova_api
-- Nova's API database. The column database_connection of cell_mappings holds the URLs of Nova's own databases, with
-- their passwords, and must be readable: guard this account as you guard nova.conf. The column transport_url, with the
-- passwords of the message queues, is not read.
GRANT SELECT (id, uuid, name, database_connection, disabled) ON cell_mappings TO trueup;
GRANT SELECT ON build_requests TO trueup;
GRANT SELECT ON host_mappings TO trueup;
GRANT SELECT ON instance_mappings TO trueup;
GRANT SELECT ON request_specs TO trueup;
GRANT SELECT ON aggregates TO trueup;
GRANT SELECT ON aggregate_hosts TO trueup;
GRANT SELECT ON aggregate_metadata TO trueup;

-- a cell
\connect nova_cell0
GRANT SELECT ON instances TO trueup;
GRANT SELECT ON shadow_instances TO trueup;
GRANT SELECT ON instance_extra TO trueup;
GRANT SELECT ON instance_info_caches TO trueup;
GRANT SELECT ON instance_system_metadata TO trueup;
GRANT SELECT ON block_device_mapping TO trueup;
GRANT SELECT ON migrations TO trueup;
GRANT SELECT ON shadow_migrations TO trueup;
GRANT SELECT ON compute_nodes TO trueup;
GRANT SELECT ON services TO trueup;
GRANT SELECT ON pci_devices TO trueup;
-- end of a cell

-- Placement's database, for --placement-database.
\connect placement
GRANT SELECT ON resource_providers TO trueup;
GRANT SELECT ON resource_classes TO trueup;
GRANT SELECT ON inventories TO trueup;
GRANT SELECT ON traits TO trueup;
GRANT SELECT ON resource_provider_traits TO trueup;
GRANT SELECT ON placement_aggregates TO trueup;
GRANT SELECT ON resource_provider_aggregates TO trueup;
GRANT SELECT ON allocations TO trueup;
GRANT SELECT ON consumers TO trueup;
GRANT SELECT ON projects TO trueup;
GRANT SELECT ON users TO trueup;
