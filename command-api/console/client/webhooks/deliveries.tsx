import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso/router';
import { useState } from 'preact/hooks';
import type {
  DeliveriesResponse,
  DeliveryResponse,
  TestedWebhookResponse,
} from '../../../../schemas/http/webhooks.js';
import { formatClock, formatDate, formatEventType, formatTime } from '../../format.js';
import { withQuery } from '../../link-address.js';
import { formatNumber } from '../../locale.js';
import { texts } from '../../all-texts.js';
import { callApi, type Result } from '../app/api.js';
import { useApi, useTabsInView } from '../app/hooks.js';
import { type Action, useActions } from '../components/actions.js';
import { ListPages } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';

const text = texts.webhooks;

type Delivery = DeliveriesResponse['deliveries'][number];

/** The result of an attempt. */
export const formatAttempt = ({
  status,
  durationMs,
  error,
}: Pick<TestedWebhookResponse, 'status' | 'durationMs' | 'error'>): string =>
  `${status === null ? (error ?? text.noResponse) : text.responded(status)}, ${formatNumber(durationMs)} ms`;

interface Filter {
  /** Empty: all. */
  readonly status: string;
  /** The last delivery of the page before; empty: the first page. */
  readonly after: string;
}

const pageSize = 20;

/** Whether the last attempt failed. */
const isFailing = ({ status, attempts }: Delivery): boolean =>
  status === 'failed' || (status === 'pending' && attempts.length > 0);

/** Loads a page. That of `failed` also has deliveries that are tried again. */
export const loadDeliveries = async (
  path: string,
  { status, after }: Filter,
  limit = pageSize,
): Promise<Result<DeliveriesResponse>> => {
  const load = (name: string) =>
    callApi<DeliveriesResponse>(
      withQuery(`${path}/deliveries`, { status: name, after, limit: String(limit) }),
    );
  const failed = await load(status);
  if (status !== 'failed' || !failed.ok) return failed;
  const pending = await load('pending');
  if (!pending.ok) return pending;
  const found = [failed, pending].flatMap(({ value }) => value.deliveries);
  const page = found.toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit);
  const isLast = found.length <= limit && failed.value.next === null && pending.value.next === null;
  const next = isLast ? null : (page.at(-1)?.id ?? null);
  return { ...failed, value: { deliveries: page.filter(isFailing), next } };
};

const retryOf = (path: string, id: string) =>
  callApi(`${path}/deliveries/${id}/retry`, { method: 'POST' });

const retryAll = async (path: string, after = ''): Promise<Result<unknown>> => {
  const page = await loadDeliveries(path, { status: 'failed', after }, 100);
  if (!page.ok) return page;
  for (const { id } of page.value.deliveries) {
    const retried = await retryOf(path, id);
    if (!retried.ok) return retried;
  }
  return page.value.next === null ? page : retryAll(path, page.value.next);
};

/** The filter in the address, and the addresses of other filters. */
export const useDeliveryFilter = () => {
  const { path, query } = useLocation();
  const { status = '', after = '' } = query;
  return {
    filter: { status, after },
    hrefOf: (filter: Filter): string => withQuery(path, { ...filter }),
  };
};

const Attempts = ({ attempts }: Pick<Delivery, 'attempts'>) => (
  <details>
    <summary>{text.attempts(attempts.length, attempts.map(formatAttempt).at(-1) ?? '')}</summary>
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

/** The body of the request, indented. @param path of the delivery in the API */
const Body = ({ path }: { readonly path: string }) => {
  const { value, failure, reload } = useApi<DeliveryResponse>(path);
  return (
    <>
      <Trouble failure={failure} onRetry={reload} />
      {value?.body === null && <p class="soft">{text.bodyNotStored}</p>}
      {typeof value?.body === 'string' && (
        // Scrolls, so that the keyboard must reach it.
        <pre dir="ltr" tabIndex={0} aria-label={text.body}>
          {JSON.stringify(JSON.parse(value.body), null, 2)}
        </pre>
      )}
    </>
  );
};

const LazyBody = (props: { readonly path: string }) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{text.body}</summary>
      {isOpen && <Body {...props} />}
    </details>
  );
};

interface RowProps {
  /** The path of the delivery in the API. */
  readonly path: string;
  readonly delivery: Delivery;
  readonly button: ComponentChildren;
}

const Row = ({ path, delivery, button }: RowProps) => {
  const { types, count, status, attempts, nextAttemptAt } = delivery;
  return (
    <li>
      <div class="row spread">
        <p>
          <span class={`badge ${status}`}>
            {status === 'pending' && attempts.length > 0
              ? text.retrying
              : text.deliveryStatus[status]}
          </span>{' '}
          {types.map(formatEventType).join(', ')}
          {count > 1 && `, ${text.moreEvents(count)}`}
        </p>
        {button}
      </div>
      {nextAttemptAt !== null && <p class="soft">{text.nextAttempt(formatTime(nextAttemptAt))}</p>}
      {attempts.length > 0 && <Attempts attempts={attempts} />}
      <LazyBody path={path} />
    </li>
  );
};

const statuses = [
  ['', text.filters.all],
  ['pending', text.filters.pending],
  ['delivered', text.filters.delivered],
  ['failed', text.filters.failed],
] as const;

interface Props extends DeliveriesResponse {
  /** The path of the webhook in the API. */
  readonly path: string;
  readonly isLoading: boolean;
  readonly onReload: () => void;
}

/** A page of deliveries, the newest first. */
export const Deliveries = ({ path, deliveries, next, isLoading, onReload }: Props) => {
  const { filter, hrefOf } = useDeliveryFilter();
  const tools = useActions(() => {
    onReload();
    // The attempt may have ended by then.
    setTimeout(onReload, 3_000);
  });
  const retry = (id: string): Action => ({
    verb: text.retry,
    unseen: text.delivery(id),
    call: () => retryOf(path, id),
    done: text.retried,
  });
  const retryFailed: Action = {
    verb: text.retryAll,
    dialog: { title: text.retryAll, content: <p>{text.retryAllCost}</p> },
    call: () => retryAll(path),
    done: text.allRetried,
  };
  return (
    <section class="card stack" aria-labelledby="deliveries" aria-busy={isLoading}>
      <div class="row spread">
        <h2 id="deliveries">{text.deliveries}</h2>
        <div class="row">
          {deliveries.some(isFailing) && tools.buttons([retryFailed])}
          <button type="button" class="small" onClick={onReload}>
            {text.refresh}
          </button>
        </div>
      </div>
      <nav ref={useTabsInView(filter.status)} class="tabs" aria-label={text.statusOfDeliveries}>
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
      {tools.feedback}
      {deliveries.length === 0 && <p class="soft">{text.noDeliveries}</p>}
      <ol class="plain stack">
        {deliveries.map((delivery) => (
          <Row
            key={delivery.id}
            path={`${path}/deliveries/${delivery.id}`}
            delivery={delivery}
            button={tools.buttons([retry(delivery.id)])}
          />
        ))}
      </ol>
      <ListPages
        first={filter.after === '' ? null : hrefOf({ ...filter, after: '' })}
        next={next === null ? null : hrefOf({ ...filter, after: next })}
      />
      {tools.dialogs}
    </section>
  );
};
