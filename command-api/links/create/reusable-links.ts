import { readLinkStates } from '../../../ops/ledger/link-states.js';
import type { CommandRequest } from '../../../schemas/decision.js';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import type { Client } from '../../../ops/platform/postgres/pool.js';
import { reuseKeyOf } from '../../../schemas/folds/ledger-link.js';
import {
  destinationOf,
  isReusable,
  nameOf,
  type CreateLink,
  type Destination,
  type ReusedLink,
} from './command.js';

const pageSize = 100;
/** Links with texts or passwords, which only events contain, are read and skipped. */
const maxPages = 10;

interface Candidate {
  readonly subject: string;
  readonly created_at: Date;
}

/** The oldest active link of an account to a destination on a domain, without options; `null` if none exists. */
const findReusable = async (
  tx: Client,
  outbox: Outbox,
  destination: Destination,
): Promise<ReusedLink | null> => {
  const { account, url, domain } = destination;
  let after: Candidate = { subject: '', created_at: new Date(0) };
  for (let page = 0; page < maxPages; page += 1) {
    const { rows } = await tx.query<Candidate>({
      name: 'links-reusable',
      text: `SELECT subject, created_at FROM ledger.links
             WHERE reuse_key = $1 AND (created_at, subject) > ($2::timestamptz, $3) AND account = $4
               AND CASE WHEN $5::text IS NULL THEN strpos(subject, '/') = 0 ELSE starts_with(subject, $5) END
               AND NOT deleted AND NOT blocked AND NOT disabled AND expired IS NULL
               AND expires_at IS NULL AND starts_at IS NULL AND max_clicks IS NULL
             ORDER BY created_at, subject LIMIT ${pageSize}`,
      values: [
        reuseKeyOf(account, url),
        after.created_at,
        after.subject,
        account,
        domain && `${domain}/`,
      ],
    });
    const states = await readLinkStates(
      tx,
      outbox,
      rows.map(({ subject }) => subject),
    );
    for (const { subject } of rows) {
      const state = states.get(subject)?.state;
      if (state && isReusable(state, destination)) return state.link;
    }
    const last = rows.at(-1);
    if (!last || rows.length < pageSize) return null;
    after = last;
  }
  return null;
};

/** The links to reuse, by `nameOf`. */
export const findAllReusable = async (
  tx: Client,
  outbox: Outbox,
  links: readonly CommandRequest<CreateLink>[],
): Promise<ReadonlyMap<string, ReusedLink>> => {
  const destinations = links.filter(({ data }) => data.reuse).map(destinationOf);
  const wanted = new Map(destinations.map((destination) => [nameOf(destination), destination]));
  const found = await Promise.all(
    Array.from(wanted, async ([name, destination]): Promise<readonly [string, ReusedLink][]> => {
      const link = await findReusable(tx, outbox, destination);
      return link ? [[name, link]] : [];
    }),
  );
  return new Map(found.flat());
};
