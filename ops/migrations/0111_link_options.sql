-- Generation 3: earlier projectors and edges read the columns that `options` replaces.

-- The previous schema has other tables.
DROP SCHEMA IF EXISTS projection_redirects_previous CASCADE;

-- The options of a link: see schemas/link-options.ts.
ALTER TABLE projection_redirects.links ADD COLUMN options jsonb;
UPDATE projection_redirects.links SET options = CASE
    WHEN rules IS NULL THEN '{"forwardQuery": true}'
    WHEN forward_query THEN jsonb_build_object('rules', rules, 'forwardQuery', true)
    ELSE jsonb_build_object('rules', rules)
  END
  WHERE rules IS NOT NULL OR forward_query;
ALTER TABLE projection_redirects.links DROP COLUMN rules, DROP COLUMN forward_query;

-- For the number of short codes that are taken, while they are generated.
CREATE INDEX links_short ON ledger.links (subject) WHERE subject ~ '(^|/)[^/]{4,5}$';
