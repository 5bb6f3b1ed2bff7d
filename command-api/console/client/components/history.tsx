import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { HistoryResponse } from '../../../../schemas/http/history.js';
import { formatEventType, formatTime } from '../../format.js';
import {
  describeHistory,
  type HistoryEntry,
  type HistoryEvent,
  nameOfActor,
} from '../../history.js';
import { type AddressedLink, linkPath } from '../../link-address.js';
import { texts } from '../../texts.js';
import { useApi } from '../app/hooks.js';
import { richText } from './rich-text.js';
import { Trouble } from './trouble.js';

const text = texts.components;

interface EntryProps {
  readonly entry: HistoryEntry;
  readonly actorNames: HistoryResponse['actorNames'];
  /** The changed thing, where the page does not name it. */
  readonly subject?: ComponentChildren;
}

export const EventEntry = ({
  entry: { type, time, actor, changes },
  actorNames,
  subject,
}: EntryProps) => (
  <li class="card">
    <p class="row spread">
      <strong>{formatEventType(type)}</strong>
      <span class="soft">
        {formatTime(time)}
        {actor !== null && (
          <>
            {', '}
            {richText(texts.components.by, { actor: <bdi>{nameOfActor(actor, actorNames)}</bdi> })}
          </>
        )}
      </span>
    </p>
    {subject !== undefined && <p class="soft long">{subject}</p>}
    <dl class="data">
      {changes.map(({ field, before, after }) => (
        <div key={field}>
          <dt>{field}</dt>
          <dd>
            {before === undefined ? (
              <bdi>{after}</bdi>
            ) : (
              <>
                <bdi>{before}</bdi> → <bdi>{after}</bdi>
              </>
            )}
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

interface PartProps extends Props {
  readonly after: number;
  /** The events before this part. */
  readonly earlier: readonly HistoryEvent[];
}

const HistoryPart = ({ base, link, after, earlier }: PartProps) => {
  const [hasMore, showMore] = useState(false);
  const address = linkPath(base, link, '/history', { limit: '100', after: String(after) });
  const { value, failure, reload } = useApi<HistoryResponse>(address);
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
            <button type="button" onClick={() => showMore(true)}>
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
