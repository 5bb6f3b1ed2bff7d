-- Generation 2: earlier projectors do not count the links of tags.

-- How many links of an account have a tag, without deleted ones. A tag without links has no row.
CREATE TABLE projection_redirects.tags (
  account text COLLATE "C" NOT NULL,
  tag text COLLATE "C" NOT NULL,
  links integer NOT NULL,
  PRIMARY KEY (account, tag)
) WITH (fillfactor = 50);

INSERT INTO projection_redirects.tags (account, tag, links)
SELECT t.account, t.tag, count(*)
FROM projection_redirects.link_tags t JOIN projection_redirects.links l ON l.subject = t.subject
WHERE l.status <> 'deleted'
GROUP BY t.account, t.tag;

-- A projection kept for a rollback lacks the table.
DROP SCHEMA IF EXISTS projection_redirects_previous CASCADE;
