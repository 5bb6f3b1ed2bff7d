import type { Pool } from '../../platform/postgres/pool.js';
import type { LogCopy } from './log-copy.js';
import { lateClickFaults, servedFaults, versionFaults } from './managed-links.js';
import type { CatchUp } from './log-sources.js';
import { visitsAtMost, type PromisedLink, type Promises } from './promises.js';
import { differences, readReadModels } from './read-models.js';

/** As many of one kind are told; a fault of the product mostly has many. */
const toldOfAKind = 5;

const tell = (promises: Promises, faults: readonly string[]): void => {
  promises.broken.push(...faults.slice(0, toldOfAKind));
  if (faults.length > toldOfAKind) {
    promises.broken.push(`… and ${faults.length - toldOfAKind} more of this kind`);
  }
};

/** What is wrong with the log's events of a link that somebody got a 201 for. */
const creationFaults = (link: PromisedLink, log: LogCopy): readonly string[] => {
  const created = (log.linkEvents.get(link.code) ?? []).flatMap(({ event }) =>
    event.type === 'linklog.LinkCreated.v3' ? [event] : [],
  );
  const [creation] = created;
  if (created.length !== 1 || !creation) {
    return [`${link.code} got a 201, and the log has ${created.length} LinkCreated of it`];
  }
  const { url, maxClicks } = creation.data;
  return url === link.url && maxClicks === link.maxClicks
    ? []
    : [`${link.code} was made for ${link.url}, the log says ${url}`];
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
 * Holds the log against what was promised, and the read models against the log. It may be asked under
 * load: what was acknowledged before it is asked must be in the log, and what is counted after must
 * have been sent.
 */
export const checkLog = async (options: {
  readonly promises: Promises;
  readonly pool: Pool;
  readonly log: LogCopy;
  readonly catchUp: CatchUp;
}): Promise<void> => {
  const { promises, pool, log, catchUp: readOn } = options;
  const links = promises.links.slice();
  const changes = promises.changes.filter(({ published: logged }) => logged);
  const versions = promises.versions.slice();
  const readModels = await readReadModels(pool);
  await readOn(log, pool);

  tell(promises, log.faults.splice(0));
  tell(
    promises,
    links.flatMap((link) => creationFaults(link, log)),
  );
  tell(
    promises,
    links.flatMap((link) => limitFaults(link, log)),
  );
  tell(
    promises,
    changes
      .filter(({ marker }) => !log.markers.has(marker))
      .map(({ marker }) => `a change was answered 200, and the log has no event of it: ${marker}`),
  );
  tell(promises, versionFaults(versions, log));
  tell(promises, lateClickFaults(promises.managed, log));
  tell(promises, differences(readModels, log));
};

/** What must hold besides once nothing is in flight and every sender is through. */
export const checkIdleLog = async (options: {
  readonly promises: Promises;
  readonly pool: Pool;
  readonly log: LogCopy;
  readonly keyId: string;
}): Promise<void> => {
  const { promises, pool, log, keyId } = options;
  tell(promises, log.gaps());
  tell(
    promises,
    promises.links.flatMap(({ code, redirected }) => {
      const counted = log.visits.get(code)?.length ?? 0;
      return counted >= redirected
        ? []
        : [`${code}: ${redirected} visits were redirected, the log has ${counted}`];
    }),
  );
  tell(
    promises,
    promises.changes
      .filter(({ marker }) => !log.markers.has(marker))
      .map(({ marker }) => `a change was acknowledged, and the log has no event of it: ${marker}`),
  );
  tell(promises, servedFaults(promises.managed, log));
  const made = log.linksOfKey.get(keyId) ?? 0;
  if (made !== promises.links.length) {
    promises.broken.push(`${promises.links.length} links got a 201, the log has ${made}`);
  }
  tell(
    promises,
    promises.links
      .filter(({ url }) => log.linksTo.get(url) !== 1)
      .map(({ url }) => `${log.linksTo.get(url) ?? 0} links were made to ${url}, not one`),
  );
  tell(
    promises,
    [...promises.refusedAliases]
      .filter((alias) => !log.linkEvents.has(alias))
      .map((alias) => `${alias} was refused as taken, and nobody has it`),
  );
  const { rows } = await pool.query<{ topic: string; unsent: number }>(
    `SELECT p.topic, p.next_offset - r.next_offset AS unsent
     FROM log.relayed r JOIN log.partitions p ON p.id = r.partition_id
     WHERE r.next_offset < p.next_offset`,
  );
  tell(
    promises,
    rows.map(({ topic, unsent }) => `${unsent} events of ${topic} wait in the outbox`),
  );
};
