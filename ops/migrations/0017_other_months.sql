-- A month's counts while another month is current: a clock that was ahead began that one, and came back. By the
-- month's first day: calls, links, QR codes.
ALTER TABLE ledger.key_meters ADD COLUMN other_months jsonb NOT NULL DEFAULT '{}';

-- The other months when `begun` becomes the current month in place of `month`: the newest three.
CREATE FUNCTION ledger.set_aside(
  other_months jsonb, month date, calls bigint, links bigint, qr_codes bigint, begun date
) RETURNS jsonb STABLE LANGUAGE sql AS $$
  SELECT coalesce(jsonb_object_agg(first_day, counts), '{}')
  FROM (
    SELECT key AS first_day, value AS counts
    FROM jsonb_each(other_months
                    || jsonb_build_object(month::text, jsonb_build_array(calls, links, qr_codes)))
    WHERE key <> begun::text AND value <> '[0, 0, 0]'
    ORDER BY key COLLATE "C" DESC LIMIT 3
  ) newest
$$;
