import type { Pool } from '../../platform/postgres/pool.js';
import type { LogCopy } from './log-copy.js';
import type { CatchUp } from './log-sources.js';
import type { PromisedLink, Promises } from './promises.js';

interface LogCheck {
  readonly promises: Promises;
  readonly pool: Pool;
  readonly log: LogCopy;
}

/** Reported faults of one kind: one bug causes many of them. */
const reportedOfKind = 5;

const report = (promises: Promises, faults: readonly string[]): void => {
  promises.broken.push(...faults.slice(0, reportedOfKind));
  if (faults.length > reportedOfKind) {
    promises.broken.push(`… and ${faults.length - reportedOfKind} more of this kind`);
  }
};

/** Compares the LinkCreated event with the 201. */
const creationFaults = (link: PromisedLink, log: LogCopy): readonly string[] => {
  const created = log.creations.get(link.code) ?? [];
  const [creation] = created;
  return created.length === 1 && creation?.url === link.url && creation.maxClicks === link.maxClicks
    ? []
    : [`${link.code} got a 201 for ${link.url}, the log has ${JSON.stringify(created)}`];
};

const limitFaults = (link: PromisedLink, log: LogCopy): readonly string[] => {
  const { code, redirected, unanswered, inFlight } = link;
  const counted = log.visits.get(code) ?? 0;
  const maxClicks = link.maxClicks ?? Infinity;
  return counted > redirected + unanswered + inFlight ||
    counted > maxClicks ||
    redirected > maxClicks
    ? [`${code}: ${JSON.stringify(link)}, the log has ${counted} visits`]
    : [];
};

/**
 * Compares the log with the promises. Works under load: what was acknowledged before the read must be in the log, and
 * what is counted after it must have been sent.
 */
export const checkLog = async (check: LogCheck & { readonly catchUp: CatchUp }): Promise<void> => {
  const { promises, pool, log, catchUp } = check;
  const links = promises.links.slice();
  await catchUp(log, pool);

  report(promises, log.faults.splice(0));
  report(
    promises,
    links.flatMap((link) => creationFaults(link, log)),
  );
  report(
    promises,
    links.flatMap((link) => limitFaults(link, log)),
  );
};

/** Descriptions of the events that the relay has not sent to Kafka. */
export const unsentEvents = async (pool: Pool): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ topic: string; unsent: number }>(
    `SELECT p.topic, p.next_offset - r.next_offset AS unsent
     FROM log.relayed r JOIN log.partitions p ON p.id = r.partition_id
     WHERE r.next_offset < p.next_offset`,
  );
  return rows.map(({ topic, unsent }) => `${unsent} events of ${topic} are in the outbox`);
};

/** Checks what holds only without requests in flight, when outbox and spools are empty. */
export const checkIdleLog = async (
  { promises, pool, log }: LogCheck,
  keyId: string,
): Promise<void> => {
  const { links, refusedAliases, broken } = promises;
  report(promises, log.gaps());
  report(
    promises,
    links.flatMap(({ code, url, redirected }) => {
      const counted = log.visits.get(code) ?? 0;
      return counted >= redirected && log.linksTo.get(url) === 1
        ? []
        : [`${code}: ${redirected} redirects, ${counted} in the log, or another link of ${url}`];
    }),
  );
  const created = log.linksOfKey.get(keyId) ?? 0;
  if (created !== links.length) broken.push(`${links.length} got a 201, the log has ${created}`);
  const free = [...refusedAliases].filter((alias) => !log.creations.has(alias));
  if (free.length > 0) broken.push(`refused as taken, but free: ${free.join()}`);
  broken.push(...(await unsentEvents(pool)));
};
