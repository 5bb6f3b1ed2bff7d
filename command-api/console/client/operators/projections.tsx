import { useEffect, useState } from 'preact/hooks';
import { formatTime } from '../../format.js';
import { formatNumber, formatShare } from '../../numbers.js';
import { callApi } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { ProjectionsResponse, ProjectionWorkResponse } from '../app/types.js';
import { Confirm } from '../components/confirm.js';
import { Trouble } from '../components/trouble.js';

const refreshMs = 3_000;

type Work = ProjectionWorkResponse['work'];
type Projection = ProjectionsResponse['projections'][number];

const names: Readonly<Record<Work, string>> = {
  redrive: 'Redrive',
  rebuild: 'Rebuild',
  rollback: 'Roll back',
};

const consequences: Readonly<Record<Work, string>> = {
  redrive: 'Dead letters, and the events parked behind them, are applied again, in order.',
  rebuild:
    'A new projection is built from the whole log and replaces the live one when it has caught up. That may ' +
    'take long. The live one stays in use until then.',
  rollback: 'The projection from before the last rebuild catches up, and replaces the live one.',
};

const outcomeOf = ({ error, endedAt, outcome }: ProjectionWorkResponse): string => {
  if (error !== null) return `failed: ${error}`;
  if (endedAt === null) return 'is being done';
  if (outcome === null) return 'done';
  const { applied, remaining } = outcome;
  const rest = remaining === 0 ? '' : `, ${formatNumber(remaining)} remain`;
  return `done, ${formatNumber(applied)} applied${rest}`;
};

const Last = ({ last }: { readonly last: ProjectionWorkResponse }) => (
  <p class={`hint ${last.error === null ? '' : 'bad'}`} role="status">
    {names[last.work]} by <bdi>{last.actor}</bdi>, {formatTime(last.startedAt)}: {outcomeOf(last)}
  </p>
);

const Running = ({ done, total }: NonNullable<Projection['running']>) =>
  done === null || total === null ? (
    <p>Another process rebuilds it.</p>
  ) : (
    <label class="field">
      <span>
        Being built: {formatNumber(done)} of {formatNumber(total)} records,{' '}
        {formatShare(done, total)}
      </span>
      <progress max={Math.max(1, total)} value={done} />
    </label>
  );

/** The badge and the label of a projection's state. */
const stateOf = ({ lag, deadLetters, parked, running }: Projection): readonly [string, string] => {
  if (deadLetters + parked > 0) return ['blocked', 'dead letters'];
  if (running !== null) return ['disabled', 'being built'];
  if (lag === null) return ['', 'unknown'];
  return lag === 0 ? ['active', 'up to date'] : ['disabled', 'behind'];
};

const Row = (props: {
  readonly projection: Projection;
  readonly onSelect: (work: Work) => void;
}) => {
  const { projection, onSelect } = props;
  const { name, lag, deadLetters, parked, running, last } = projection;
  const works: readonly Work[] =
    deadLetters + parked > 0 ? ['redrive', 'rebuild', 'rollback'] : ['rebuild', 'rollback'];
  const [badge, state] = stateOf(projection);
  return (
    <li class="card stack">
      <div class="row spread">
        <h2 class="row">
          {name} <span class={`badge ${badge}`}>{state}</span>
        </h2>
        <div class="row" role="group" aria-label={name}>
          {works.map((work) => (
            <button
              key={work}
              type="button"
              class="small"
              onClick={() => {
                onSelect(work);
              }}
            >
              {names[work]}
            </button>
          ))}
        </div>
      </div>
      <dl class="figures">
        <div>
          <dt>Lag</dt>
          <dd class="figure">{lag === null ? 'unknown' : formatNumber(lag)}</dd>
        </div>
        <div>
          <dt>Dead letters</dt>
          <dd class={`figure ${deadLetters > 0 ? 'bad' : ''}`}>{formatNumber(deadLetters)}</dd>
        </div>
        <div>
          <dt>Parked</dt>
          <dd class={`figure ${parked > 0 ? 'bad' : ''}`}>{formatNumber(parked)}</dd>
        </div>
      </dl>
      {running !== null && <Running {...running} />}
      {last !== null && <Last last={last} />}
    </li>
  );
};

const ConfirmWork = (props: {
  readonly name: string;
  readonly work: Work;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) => {
  const { name, work, onDone, onClose } = props;
  return (
    <Confirm
      title={`${names[work]} ${name}?`}
      verb={names[work]}
      call={() => callApi(`/admin/projections/${name}/${work}`, { method: 'POST', body: {} })}
      onDone={onDone}
      onClose={onClose}
    >
      <p>{consequences[work]}</p>
    </Confirm>
  );
};

/** The lag and dead letters of projections, and work on them. */
export const Projections = () => {
  const { value, failure, reload } = useLoad(
    () => callApi<ProjectionsResponse>('/admin/projections'),
    '',
  );
  const [selectedWork, selectWork] = useState<{ readonly name: string; readonly work: Work }>();
  useEffect(() => {
    // After a failure, the user retries; the message must stay.
    if (failure) return undefined;
    const timer = setInterval(reload, refreshMs);
    return () => {
      clearInterval(timer);
    };
  }, [failure, reload]);
  const close = (): void => {
    selectWork(undefined);
  };
  return (
    <Page title="Projections">
      <Trouble failure={failure} onRetry={reload} />
      <p class="soft">
        What is folded from the log. Lag: records of the log that are not folded yet. Dead letters:
        events that could not be applied; later events of the same link or key are parked behind
        them.
      </p>
      <ul class="plain columns wide">
        {value?.projections.map((projection) => (
          <Row
            key={projection.name}
            projection={projection}
            onSelect={(work) => {
              selectWork({ name: projection.name, work });
            }}
          />
        ))}
      </ul>
      {selectedWork && (
        <ConfirmWork
          {...selectedWork}
          onClose={close}
          onDone={() => {
            close();
            reload();
          }}
        />
      )}
    </Page>
  );
};
