import type { Pool } from '../../platform/postgres/pool.js';
import type { LogCopy } from './log-copy.js';
import { lateClickFaults, servedFaults, versionFaults } from './managed-links.js';
import type { CatchUp } from './log-sources.js';
import { visitsAtMost, type PromisedLink, type Promises } from './promises.js';
import { differences, readReadModels } from './read-models.js';

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
  const created = (log.linkEvents.get(link.code) ?? []).flatMap(({ event }) =>
    event.type === 'linklog.LinkCreated.v4' ? [event] : [],
  );
  const [creation] = created;
  if (created.length !== 1 || !creation) {
    return [`${link.code} got a 201, but the log has ${created.length} LinkCreated events of it`];
  }
  const { url, maxClicks } = creation.data;
  return url === link.url && maxClicks === link.maxClicks
    ? []
    : [`${link.code} was created for ${link.url}, the log has ${url}`];
};

const limitFaults = (link: PromisedLink, log: LogCopy): readonly string[] => {
  const counted = log.visits.get(link.code)?.length ?? 0;
  const { maxClicks, redirected } = link;
  const faults: string[] = [];
  if (counted > visitsAtMost(link)) {
    faults.push(`${link.code}: ${visitsAtMost(link)} visits at most, the log has ${counted}`);
  }
  if (maxClicks !== null && (counted > maxClicks || redirected > maxClicks)) {
    faults.push(`${link.code}: limit ${maxClicks}, ${redirected} redirects, ${counted} in the log`);
  }
  return faults;
};

/**
 * Compares the log with the promises, and the read models with the log. Works under load: what was acknowledged before
 * the read must be in the log, and what is counted after it must have been sent.
 */
export const checkLog = async (options: {
  readonly promises: Promises;
  readonly pool: Pool;
  readonly log: LogCopy;
  readonly catchUp: CatchUp;
}): Promise<void> => {
  const { promises, pool, log, catchUp } = options;
  const links = promises.links.slice();
  const changes = promises.changes.filter(({ published }) => published);
  const versions = promises.versions.slice();
  const readModels = await readReadModels(pool);
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
  report(
    promises,
    changes
      .filter(({ marker }) => !log.markers.has(marker))
      .map(({ marker }) => `a change got 200, but its event is not in the log: ${marker}`),
  );
  report(promises, versionFaults(versions, log));
  report(promises, lateClickFaults(promises.managed, log));
  report(promises, differences(readModels, log));
};

/** Checks what holds only without requests in flight, when outbox and spools are empty. */
export const checkIdleLog = async (options: {
  readonly promises: Promises;
  readonly pool: Pool;
  readonly log: LogCopy;
  readonly keyId: string;
}): Promise<void> => {
  const { promises, pool, log, keyId } = options;
  report(promises, log.gaps());
  report(
    promises,
    promises.links.flatMap(({ code, redirected }) => {
      const counted = log.visits.get(code)?.length ?? 0;
      return counted >= redirected
        ? []
        : [`${code}: ${redirected} redirects, the log has ${counted} visits`];
    }),
  );
  report(
    promises,
    promises.changes
      .filter(({ marker }) => !log.markers.has(marker))
      .map(({ marker }) => `a change was acknowledged, but its event is not in the log: ${marker}`),
  );
  report(promises, servedFaults(promises.managed, log));
  const created = log.linksOfKey.get(keyId) ?? 0;
  if (created !== promises.links.length) {
    promises.broken.push(`${promises.links.length} links got a 201, the log has ${created}`);
  }
  report(
    promises,
    promises.links
      .filter(({ url }) => log.linksTo.get(url) !== 1)
      .map(({ url }) => `${log.linksTo.get(url) ?? 0} links have the destination ${url}, not one`),
  );
  report(
    promises,
    [...promises.refusedAliases]
      .filter((alias) => !log.linkEvents.has(alias))
      .map((alias) => `${alias} was refused as taken, but is free`),
  );
  const { rows } = await pool.query<{ topic: string; unsent: number }>(
    `SELECT p.topic, p.next_offset - r.next_offset AS unsent
     FROM log.relayed r JOIN log.partitions p ON p.id = r.partition_id
     WHERE r.next_offset < p.next_offset`,
  );
  report(
    promises,
    rows.map(({ topic, unsent }) => `${unsent} events of ${topic} wait in the outbox`),
  );
};
