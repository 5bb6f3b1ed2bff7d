import { useLocation } from 'preact-iso/router';
import { formatClock, formatDate, formatEventType, formatTime } from '../../format.js';
import { formatNumber } from '../../numbers.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { useAction } from '../app/hooks.js';
import type { Delivery, DeliveryPage, TestedWebhook } from '../app/types.js';
import { ListPages } from '../components/list-pages.js';
import { useNotice } from '../components/notice.js';
import { Trouble } from '../components/trouble.js';

const text = texts.webhooks;

/** The result of an attempt. */
export const formatAttempt = ({
  status,
  durationMs,
  error,
}: Pick<TestedWebhook, 'status' | 'durationMs' | 'error'>): string =>
  `${status === null ? (error ?? text.noResponse) : text.responded(status)}, ${formatNumber(durationMs)} ms`;

interface Filter {
  /** Empty: all. */
  readonly status: string;
  /** The last delivery of the page before; empty: the first page. */
  readonly after: string;
}

const writeFilter = ({ status, after }: Filter, more: Readonly<Record<string, string>>): string => {
  const query = new URLSearchParams({
    ...(status !== '' && { status }),
    ...(after !== '' && { after }),
    ...more,
  }).toString();
  return query === '' ? '' : `?${query}`;
};

/** The filter in the address, as the query of the API, and the addresses of other filters. */
export const useDeliveryFilter = () => {
  const { path, query } = useLocation();
  const { status = '', after = '' } = query;
  return {
    filter: { status, after },
    query: writeFilter({ status, after }, { limit: '20' }),
    hrefOf: (filter: Filter): string => path + writeFilter(filter, {}),
  };
};

const Attempts = ({ attempts }: Pick<Delivery, 'attempts'>) => (
  <details>
    <summary>{text.attempts(attempts.length)}</summary>
    <ol>
      {attempts.map((attempt) => (
        <li key={attempt.at}>
          <span class="soft">
            {formatDate(attempt.at)}, {formatClock(attempt.at)}:
          </span>{' '}
          {formatAttempt(attempt)}
        </li>
      ))}
    </ol>
  </details>
);

const Row = (props: { readonly delivery: Delivery; readonly onRetry: () => void }) => {
  const { id, types, count, status, attempts, nextAttemptAt } = props.delivery;
  return (
    <li>
      <div class="row spread">
        <p>
          <span class={`badge ${status}`}>{text.deliveryStatus[status]}</span>{' '}
          {types.map(formatEventType).join(', ')}
          {count > 1 && `, ${text.moreEvents(count)}`}
        </p>
        <button type="button" class="small" onClick={props.onRetry}>
          {text.retry} <span class="unseen">{text.delivery(id)}</span>
        </button>
      </div>
      {nextAttemptAt !== null && <p class="soft">{text.nextAttempt(formatTime(nextAttemptAt))}</p>}
      {attempts.length > 0 && <Attempts attempts={attempts} />}
    </li>
  );
};

const statuses = [
  ['', text.filters.all],
  ['pending', text.filters.pending],
  ['delivered', text.filters.delivered],
  ['failed', text.filters.failed],
] as const;

interface Props extends DeliveryPage {
  /** The path of the webhook in the API. */
  readonly path: string;
  readonly isLoading: boolean;
  readonly onReload: () => void;
}

/** A page of deliveries, the newest first. */
export const Deliveries = ({ path, deliveries, next, isLoading, onReload }: Props) => {
  const { filter, hrefOf } = useDeliveryFilter();
  const { failure, run } = useAction();
  const { notice, announce } = useNotice();
  const retry = async (id: string): Promise<void> => {
    const call = () => callApi(`${path}/deliveries/${id}/retry`, { method: 'POST' });
    if (!(await run(call))) return;
    announce(text.retried);
    onReload();
  };
  return (
    <section class="card stack" aria-labelledby="deliveries" aria-busy={isLoading}>
      <div class="row spread">
        <h2 id="deliveries">{text.deliveries}</h2>
        <button type="button" class="small" onClick={onReload}>
          {text.refresh}
        </button>
      </div>
      <nav class="tabs" aria-label={text.statusOfDeliveries}>
        {statuses.map(([status, title]) => (
          <a
            key={status}
            href={hrefOf({ status, after: '' })}
            aria-current={status === filter.status ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {notice}
      <Trouble failure={failure} />
      {deliveries.length === 0 && <p class="soft">{text.noDeliveries}</p>}
      <ol class="plain stack">
        {deliveries.map((delivery) => (
          <Row key={delivery.id} delivery={delivery} onRetry={() => void retry(delivery.id)} />
        ))}
      </ol>
      <ListPages
        first={filter.after === '' ? null : hrefOf({ ...filter, after: '' })}
        next={next === null ? null : hrefOf({ ...filter, after: next })}
      />
    </section>
  );
};
