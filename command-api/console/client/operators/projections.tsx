import { useEffect, useState } from 'preact/hooks';
import { formatTime } from '../../format.js';
import { formatNumber, formatShare } from '../../numbers.js';
import { callApi } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { ProjectionsResponse, ProjectionWorkResponse } from '../app/types.js';
import { Confirm } from '../components/confirm.js';
import { Trouble } from '../components/trouble.js';
import { texts } from '../../texts.js';
import { richText } from '../components/rich-text.js';

const text = texts.operators;

const refreshMs = 3_000;

type Work = ProjectionWorkResponse['work'];
type Projection = ProjectionsResponse['projections'][number];

const names: Readonly<Record<Work, string>> = {
  redrive: text.redrive,
  rebuild: text.rebuild,
  rollback: text.rollback,
};

const consequences: Readonly<Record<Work, string>> = {
  redrive: text.redriveEffect,
  rebuild: text.rebuildEffect,
  rollback: text.rollbackEffect,
};

const outcomeOf = ({ error, endedAt, outcome }: ProjectionWorkResponse): string => {
  if (error !== null) return text.failed(error);
  if (endedAt === null) return text.running;
  if (outcome === null) return text.done;
  return text.applied(outcome.applied, outcome.remaining);
};

const Last = ({ last }: { readonly last: ProjectionWorkResponse }) => (
  <p class={`hint ${last.error === null ? '' : 'bad'}`} role="status">
    {richText(text.lastWork, {
      work: names[last.work],
      actor: <bdi>{last.actor}</bdi>,
      time: formatTime(last.startedAt),
      outcome: outcomeOf(last),
    })}
  </p>
);

const Running = ({ done, total }: NonNullable<Projection['running']>) =>
  done === null || total === null ? (
    <p>{text.rebuiltElsewhere}</p>
  ) : (
    <label class="field">
      <span>
        {text.building(done, total)} {formatShare(done, total)}
      </span>
      <progress max={Math.max(1, total)} value={done} />
    </label>
  );

/** The badge and the label of a projection's state. */
const stateOf = ({ lag, deadLetters, parked, running }: Projection): readonly [string, string] => {
  if (deadLetters + parked > 0) return ['blocked', text.hasDeadLetters];
  if (running !== null) return ['disabled', text.beingBuilt];
  if (lag === null) return ['', text.unknown];
  return lag === 0 ? ['active', text.upToDate] : ['disabled', text.behind];
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
          <dt>{text.lag}</dt>
          <dd class="figure">{lag === null ? text.unknown : formatNumber(lag)}</dd>
        </div>
        <div>
          <dt>{text.deadLetters}</dt>
          <dd class={`figure ${deadLetters > 0 ? 'bad' : ''}`}>{formatNumber(deadLetters)}</dd>
        </div>
        <div>
          <dt>{text.parked}</dt>
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
      title={text.confirmWork(names[work], name)}
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
    <Page title={texts.app.projections}>
      <Trouble failure={failure} onRetry={reload} />
      <p class="soft">{text.projectionsHint}</p>
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
