import { useState } from 'preact/hooks';
import { formatEventType, formatTime } from '../../format.js';
import { linkPath, type AddressedLink } from '../../link-address.js';
import { callApi } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import type { HistoryResponse } from '../app/types.js';
import { Trouble } from './trouble.js';
import { texts } from '../../texts.js';
import { richText } from './rich-text.js';

const textOf = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
};

type Event = HistoryResponse['events'][number];

const Entry = ({ event }: { readonly event: Event }) => (
  <li class="card">
    <p class="row spread">
      <strong>{formatEventType(event.type)}</strong>
      <span class="soft">
        {formatTime(event.time)}
        {event.actor !== undefined && (
          <>
            {', '}
            {richText(texts.components.by, { actor: <bdi>{event.actor}</bdi> })}
          </>
        )}
      </span>
    </p>
    <dl class="data">
      {Object.entries(event.data)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <bdi>{textOf(value)}</bdi>
            </dd>
          </div>
        ))}
    </dl>
  </li>
);

interface Props {
  readonly base: '/v2/links' | '/admin/links';
  readonly link: AddressedLink;
}

const HistoryPart = ({ base, link, after }: Props & { readonly after: number }) => {
  const [hasMore, showMore] = useState(false);
  const address = linkPath(base, link, '/history', { limit: '100', after: String(after) });
  const { value, failure, reload } = useLoad(() => callApi<HistoryResponse>(address), address);
  return (
    <>
      {failure && (
        <li>
          <Trouble failure={failure} onRetry={reload} />
        </li>
      )}
      {value?.events.map((event, index) => (
        <Entry key={index} event={event} />
      ))}
      {value?.next != null &&
        (hasMore ? (
          <HistoryPart base={base} link={link} after={value.next} />
        ) : (
          <li>
            <button
              type="button"
              onClick={() => {
                showMore(true);
              }}
            >
              {texts.components.showMore}
            </button>
          </li>
        ))}
    </>
  );
};

/** The history of a link, oldest first. */
export const History = (props: Props) => (
  <ol class="history">
    <HistoryPart {...props} after={0} />
  </ol>
);
