import type { HistoryResponse } from '../../../../schemas/http/history.js';
import { formatEventType, formatTime } from '../../format.js';
import { nameOfActor, type HistoryEntry } from '../../history.js';
import { texts } from '../../texts.js';
import { richText } from './rich-text.js';

interface Props {
  readonly entry: HistoryEntry;
  readonly actorNames: HistoryResponse['actorNames'];
  /** The changed thing, where the page does not name it. */
  readonly subject?: string;
}

/** An event of a history: its type, time, actor and changes. */
export const EventEntry = ({
  entry: { type, time, actor, changes },
  actorNames,
  subject,
}: Props) => (
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
