import { texts } from '../../texts.js';
import { useRecentVisits } from '../live/recent-visits.js';

const text = texts.statistics;

/** The visits of the last minutes, on pages with a live view. */
export const NowMark = () => {
  const count = useRecentVisits();
  return count === 0 ? null : (
    <>
      {' '}
      <span class="badge live">
        {text.now(count)}
        <span class="unseen"> {text.inLastMinutes}</span>
      </span>
    </>
  );
};
