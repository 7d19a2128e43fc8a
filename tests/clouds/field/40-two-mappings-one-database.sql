-- Somebody copied a cell mapping: the mapping of cell1 leads to the database of cell2, so every row of cell2 is read twice, and nothing of cell1 is read.
-- Right: both cells count as silent, with the reason; nothing is judged by them. No advice to delete "the copy" of an instance: there is one row.
-- Seen: stale-instance-mapping, high, for each instance of cell2, with "mark it as deleted in its cell's database", which deletes the only row; "remove one of the two hosts".
-- Base: the recorded cloud `healthy`, with compute services that report.

-- in the database of api
UPDATE cell_mappings a, cell_mappings b SET a.database_connection = b.database_connection WHERE a.name = 'cell1' AND b.name = 'cell2';
