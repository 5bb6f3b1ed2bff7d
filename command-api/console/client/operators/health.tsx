import { useContext } from 'preact/hooks';
import type { HealthResponse } from '../../../../schemas/http/health.js';
import type { ProcessList } from '../../../../schemas/http/operators.js';
import { formatTime } from '../../format.js';
import { formatNumber } from '../../locale.js';
import { texts } from '../../all-texts.js';
import { readHealth } from '../app/api.js';
import { Changes } from '../app/changes.js';
import { useApi, useLoad, useRefresh } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { Figures, ScrollTable, TableHead } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { isFarBehind, worstFirst } from './projections.js';

const { common, operators: text } = texts;

const Dependencies = ({ dependencies }: Pick<HealthResponse, 'dependencies'>) => (
  <section class="card" aria-labelledby="dependencies">
    <h2 id="dependencies">{text.dependencies}</h2>
    <table>
      <TableHead columns={[text.name, text.state]} />
      <tbody>
        {Object.entries(dependencies).map(([name, { state, code }]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <span class={`badge ${state === 'up' ? 'active' : 'blocked'}`}>{state}</span> {code}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);

const Projections = ({ projections }: Pick<HealthResponse, 'projections'>) => (
  <section class="card scroll" aria-labelledby="projections" tabIndex={0}>
    <h2 id="projections">{texts.app.projections}</h2>
    <table>
      <TableHead
        columns={[
          text.name,
          ...[text.lag, text.deadLetters, text.parked].map((number) => ({ number })),
        ]}
      />
      <tbody>
        {worstFirst(projections).map((projection) => {
          const { name, lag, deadLetters, parked } = projection;
          return (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class={`number ${isFarBehind(projection) ? 'bad' : ''}`}>
                {lag === null ? common.unknown : formatNumber(lag)}
              </td>
              <td class={`number ${deadLetters > 0 ? 'bad' : ''}`}>{formatNumber(deadLetters)}</td>
              <td class={`number ${parked > 0 ? 'bad' : ''}`}>{formatNumber(parked)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
    <p class="hint">
      {text.lagHint} <a href="/console/projections">{text.workOnProjections}</a>
    </p>
  </section>
);

const figuresOf = ({
  events,
  leftOver: { spools },
  setAside: { files },
}: NonNullable<HealthResponse['spool']>) =>
  [
    [text.spooledVisits, formatNumber(events)],
    [text.leftSpools, formatNumber(spools), spools > 0],
    [text.damagedFiles, formatNumber(files), files > 0],
  ] as const;

/** What waits to reach the log, or to be compacted there. */
const Backlog = ({ spool, compaction }: Pick<HealthResponse, 'spool' | 'compaction'>) => (
  <section class="card" aria-labelledby="backlog">
    <h2 id="backlog">{text.backlog}</h2>
    <Figures
      figures={[
        ...(spool ? figuresOf(spool) : []),
        ...(compaction ? [[text.uncompacted, formatNumber(compaction.waiting)] as const] : []),
      ]}
    />
    {!spool && !compaction && <p class="soft">{text.noBacklog}</p>}
  </section>
);

const Processes = () => {
  const { value, failure, reload } = useApi<ProcessList>('/admin/processes');
  return (
    <section class="card" aria-labelledby="processes">
      <h2 id="processes">{text.processes}</h2>
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <ScrollTable
          label={text.processTable}
          columns={[text.node, text.version, text.services, text.runningSince]}
        >
          {value.processes.map(({ id, host, pid, version, services, startedAt }) => (
            <tr key={id}>
              <th scope="row">
                {host} <span class="soft">{pid}</span>
              </th>
              <td>{version}</td>
              <td>{services}</td>
              <td>{formatTime(startedAt)}</td>
            </tr>
          ))}
        </ScrollTable>
      )}
    </section>
  );
};

/** The class and the name of the state. */
const badgeOf = (health: HealthResponse, inMaintenance: boolean): readonly [string, string] => {
  if (health.status === 'fail') return ['blocked', text.unhealthy];
  if (health.status === 'draining') return ['pending', text.draining];
  if (inMaintenance) return ['pending', text.maintenance];
  // They do not make a node fail.
  const hasFaults =
    Object.values(health.dependencies).some(({ state }) => state === 'down') ||
    health.projections.some(({ deadLetters, parked }) => deadLetters + parked > 0);
  return hasFaults ? ['pending', text.faulty] : ['active', text.healthy];
};

const State = ({ health }: { readonly health: HealthResponse }) => {
  const { maintenance } = useContext(Changes);
  const [badge, name] = badgeOf(health, maintenance !== null);
  return <span class={`badge ${badge}`}>{name}</span>;
};

/** The health of the responding node, refreshed every few seconds. */
export const Health = () => {
  const loaded = useLoad(readHealth, '');
  useRefresh(loaded, 5_000);
  const { value, failure, reload } = loaded;
  return (
    <Page title={texts.app.health} aside={value && <State health={value} />}>
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <>
          <div class="columns wide">
            <Dependencies {...value} />
            <Projections {...value} />
            <Backlog {...value} />
          </div>
          <Processes />
        </>
      )}
    </Page>
  );
};
