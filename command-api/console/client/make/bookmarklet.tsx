import { useState } from 'preact/hooks';
import { bookmarkletOf } from '../../destination.js';
import { texts } from '../../texts.js';

const text = texts.make;

/** A link for the bookmarks bar. The content security policy of this page forbids its code, but not that of others. */
export const Bookmarklet = () => {
  const [note, setNote] = useState('');
  return (
    <details class="card">
      <summary>{text.bookmarklet}</summary>
      <div class="stack">
        <p>{text.bookmarkletHint}</p>
        <p class="row">
          <a
            class="button"
            href={bookmarkletOf(location.origin)}
            onClick={(event) => {
              event.preventDefault();
              setNote(text.dragIt);
            }}
          >
            {text.bookmarkletName}
          </a>
          <span role="status">{note}</span>
        </p>
      </div>
    </details>
  );
};
