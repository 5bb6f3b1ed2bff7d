import type {
  ProjectionsResponse,
  ProjectionWorkResponse,
} from '../../../../schemas/http/projections.js';
import { formatTime } from '../../format.js';
import { formatNumber, formatShare } from '../../locale.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { useApi, useRefresh } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { question, useActions } from '../components/actions.js';
import { type Description, ResourceList } from '../components/resource-list.js';
import { richText } from '../components/rich-text.js';
import { Figures } from '../components/tables.js';

const { common, operators: text } = texts;

type Work = ProjectionWorkResponse['work'];
type Projection = ProjectionsResponse['projections'][number];

const works: Readonly<Record<Work, { readonly name: string; readonly effect: string }>> = {
  redrive: { name: text.redrive, effect: text.redriveEffect },
  rebuild: { name: text.rebuild, effect: text.rebuildEffect },
  rollback: { name: text.rollback, effect: text.rollbackEffect },
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
      work: works[last.work].name,
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

const stateOf = ({ lag, deadLetters, parked, running }: Projection): readonly [string, string] => {
  if (deadLetters + parked > 0) return ['blocked', text.hasDeadLetters];
  if (running !== null) return ['disabled', text.beingBuilt];
  if (lag === null) return ['', common.unknown];
  return lag === 0 ? ['active', text.upToDate] : ['disabled', text.behind];
};

type Health = Pick<Projection, 'lag' | 'deadLetters' | 'parked'>;

/** A busy installation always has a short lag. */
export const isFarBehind = ({ lag }: Health): boolean => lag !== null && lag >= 1_000;

const severityOf = (health: Health): number => {
  if (health.deadLetters + health.parked > 0) return Number.MAX_SAFE_INTEGER;
  return isFarBehind(health) ? (health.lag ?? 0) : 0;
};

/** Those with dead letters first, then by a long lag. */
export const worstFirst = <Item extends Health>(projections: readonly Item[]): readonly Item[] =>
  [...projections].sort((a, b) => severityOf(b) - severityOf(a));

const describe = (projection: Projection): Description => {
  const { name, lag, deadLetters, parked, running, last } = projection;
  const offered: readonly Work[] =
    deadLetters + parked > 0 ? ['redrive', 'rebuild', 'rollback'] : ['rebuild', 'rollback'];
  const [badge, state] = stateOf(projection);
  return {
    id: name,
    heading: (
      <h2 class="row">
        {name} <span class={`badge ${badge}`}>{state}</span>
      </h2>
    ),
    actions: offered.map((work) => ({
      verb: works[work].name,
      ...question(text.confirmWork(works[work].name, name), <p>{works[work].effect}</p>),
      call: () => callApi(`/admin/projections/${name}/${work}`, { method: 'POST', body: {} }),
    })),
    content: (
      <>
        <Figures
          figures={[
            [text.lag, lag === null ? common.unknown : formatNumber(lag), isFarBehind(projection)],
            [text.deadLetters, formatNumber(deadLetters), deadLetters > 0],
            [text.parked, formatNumber(parked), parked > 0],
          ]}
        />
        {running !== null && <Running {...running} />}
        {last !== null && <Last last={last} />}
      </>
    ),
  };
};

/** The lag and dead letters of projections, and work on them. */
export const Projections = () => {
  const loaded = useApi<ProjectionsResponse>('/admin/projections');
  useRefresh(loaded, 3_000);
  return (
    <Page title={texts.app.projections}>
      <p class="soft">{text.projectionsHint}</p>
      <ResourceList
        tools={useActions(loaded.reload)}
        loaded={loaded}
        items={loaded.value && worstFirst(loaded.value.projections)}
        describe={describe}
        layout="columns wide"
      />
    </Page>
  );
};
