-- Earlier projectors, which generation 2 stops, read the lease in delivery.cursors.

-- The processes that deliver, each until this time. One lease for all its webhooks costs one row a second.
CREATE UNLOGGED TABLE delivery.deliverers (
  id text PRIMARY KEY,
  leased_until timestamptz NOT NULL
);

ALTER TABLE delivery.cursors
  -- The process that delivers is a row of delivery.deliverers.
  DROP COLUMN leased_until,
  -- The sequence of the webhook when its owner took it: the owner takes it again after a change.
  ADD COLUMN leased_sequence bigint,
  -- When the last owner released the webhook.
  ADD COLUMN free_since timestamptz;
