import { useState } from 'preact/hooks';
import type { HistoryResponse } from '../../../../schemas/http/history.js';
import { linkPath, type AddressedLink } from '../../link-address.js';
import { describeHistory, type HistoryEvent } from '../../history.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { EventEntry } from './event-entry.js';
import { Trouble } from './trouble.js';

const text = texts.components;

interface Props {
  readonly base: '/v2/links' | '/admin/links';
  readonly link: AddressedLink;
}

interface PartProps extends Props {
  readonly after: number;
  /** The events before this part. */
  readonly earlier: readonly HistoryEvent[];
}

const HistoryPart = ({ base, link, after, earlier }: PartProps) => {
  const [hasMore, showMore] = useState(false);
  const address = linkPath(base, link, '/history', { limit: '100', after: String(after) });
  const { value, failure, reload } = useLoad(() => callApi<HistoryResponse>(address), address);
  const events = [...earlier, ...(value?.events ?? [])];
  return (
    <>
      {failure && (
        <li>
          <Trouble failure={failure} onRetry={reload} />
        </li>
      )}
      {describeHistory(events)
        .slice(earlier.length)
        .map((entry, index) => (
          <EventEntry key={index} entry={entry} actorNames={value?.actorNames ?? {}} />
        ))}
      {value?.next != null &&
        (hasMore ? (
          <HistoryPart base={base} link={link} after={value.next} earlier={events} />
        ) : (
          <li>
            <button
              type="button"
              onClick={() => {
                showMore(true);
              }}
            >
              {text.showMore}
            </button>
          </li>
        ))}
    </>
  );
};

/** The history of a link, oldest first. */
export const History = (props: Props) => (
  <ol class="history">
    <HistoryPart {...props} after={0} earlier={[]} />
  </ol>
);
