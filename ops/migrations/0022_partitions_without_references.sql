-- A foreign key locks the partitions that it refers to, in no order, while appends hold them: one of the two was
-- ended by a deadlock now and then. Partitions are never deleted.
ALTER TABLE log.relayed DROP CONSTRAINT relayed_partition_id_fkey;
ALTER TABLE log.relay_checkpoints DROP CONSTRAINT relay_milestones_partition_id_fkey;
