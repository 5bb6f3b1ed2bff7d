import { isLinkEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import { evolveLink, noLink, type LinkState } from '../../schemas/folds/link.js';
import { linkOfRow, type RedirectRow } from '../../schemas/read-models/redirects.js';
import type { Outbox } from '../platform/outbox/port.js';
import type { Queryable } from '../platform/postgres/pool.js';

/**
 * The current states of links: the projected rows, and the later events of the outbox. So a link is
 * found as soon as its 201 was sent, however far the projector lags. Unknown codes are left out. The
 * sequence is that of the last event in the state.
 *
 * Whether a link exists, is blocked or has expired is the ledger's word alone: whoever can write to the
 * log could forge an event that says otherwise.
 */
export const readLinkStates = async (
  postgres: Queryable,
  outbox: Outbox,
  codes: readonly string[],
) => {
  // Both tables are asked for the codes: a plan from when they were small would read all of one of them.
  const { rows } = await postgres.query<RedirectRow>({
    name: 'redirects-read',
    text: `SELECT projected.*, least(projected.sequence, ledger.sequence) AS sequence, ledger.expired,
             CASE WHEN blocked THEN 'blocked' WHEN ledger.expired IS NOT NULL THEN 'expired'
               ELSE 'active' END AS status
           FROM projection_redirects.links projected JOIN ledger.links ledger USING (code)
           WHERE projected.code = ANY ($1::text[]) AND ledger.code = ANY ($1::text[])`,
    values: [codes],
  });
  const links = new Map<string, { readonly state: LinkState; readonly sequence: number }>(
    rows.map((row) => [row.code, { state: linkOfRow(row), sequence: row.sequence }]),
  );
  const known = codes.map((subject) => ({ subject, sequence: links.get(subject)?.sequence ?? 0 }));
  for (const event of await outbox.after(postgres, topics.links.name, known)) {
    if (!isLinkEvent(event)) continue;
    const { subject, sequence } = event;
    const state = evolveLink(links.get(subject)?.state ?? noLink, event);
    links.set(subject, { state, sequence });
  }
  return links;
};
