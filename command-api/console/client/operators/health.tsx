import { useEffect } from 'preact/hooks';
import { formatNumber } from '../../numbers.js';
import { readHealth } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { HealthResponse } from '../app/types.js';
import { Trouble } from '../components/trouble.js';

const refreshMs = 5_000;

const Dependencies = ({ dependencies }: Pick<HealthResponse, 'dependencies'>) => (
  <section class="card" aria-labelledby="dependencies">
    <h2 id="dependencies">Dependencies</h2>
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">State</th>
        </tr>
      </thead>
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
    <h2 id="projections">Projections</h2>
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" class="number">
            Lag
          </th>
          <th scope="col" class="number">
            Dead letters
          </th>
          <th scope="col" class="number">
            Parked
          </th>
        </tr>
      </thead>
      <tbody>
        {projections.map(({ name, lag, deadLetters, parked }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="number">{lag === null ? 'unknown' : formatNumber(lag)}</td>
            <td class={`number ${deadLetters > 0 ? 'bad' : ''}`}>{formatNumber(deadLetters)}</td>
            <td class={`number ${parked > 0 ? 'bad' : ''}`}>{formatNumber(parked)}</td>
          </tr>
        ))}
      </tbody>
    </table>
    <p class="hint">
      Lag: records of the log that are not folded yet.{' '}
      <a href="/console/projections">What can be done about them</a>
    </p>
  </section>
);

/** The health of the responding node, refreshed every few seconds. */
export const Health = () => {
  const { value, failure, reload } = useLoad(readHealth, '');
  useEffect(() => {
    // After a failure, the user retries; the message must stay.
    if (failure) return undefined;
    const timer = setInterval(reload, refreshMs);
    return () => {
      clearInterval(timer);
    };
  }, [failure, reload]);
  return (
    <Page
      title="Health"
      aside={
        value && (
          <span class={`badge ${value.status === 'pass' ? 'active' : 'blocked'}`}>
            {value.status === 'pass' ? 'All is well' : 'Something is wrong'}
          </span>
        )
      }
    >
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <div class="columns wide">
          <Dependencies {...value} />
          <Projections {...value} />
        </div>
      )}
    </Page>
  );
};
