import { useId, useState } from 'preact/hooks';
import type { Dimension } from '../../../../schemas/statistics/document.js';
import { compareRows } from '../../comparison.js';
import { formatValue } from '../../format.js';
import { texts } from '../../texts.js';
import { fileNameOf, type LoadedStats } from './period-stats.js';
import { ValueList } from './value-list.js';

interface Props {
  readonly title: string;
  /** Shown one at a time. */
  readonly dimensions: readonly Dimension[];
  readonly stats: LoadedStats;
}

/** The clicks of a period by a selected dimension. */
export const Breakdown = ({ title, dimensions, stats }: Props) => {
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const dimension = dimensions[chosen] ?? 'referrers';
  const { value, before } = stats;
  const names = texts.statistics.dimensions;
  return (
    <section class="card breakdown" aria-labelledby={id}>
      <h2 id={id} class="unseen">
        {title}
      </h2>
      <div class="row choice" role="group" aria-labelledby={id}>
        {dimensions.map((option, index) => (
          <button
            key={option}
            type="button"
            class="quiet small"
            aria-pressed={index === chosen}
            onClick={() => {
              setChosen(index);
            }}
          >
            {names[option]}
          </button>
        ))}
      </div>
      {value && (
        <ValueList
          title={names[dimension]}
          fileName={fileNameOf(stats, dimension)}
          rows={compareRows(value[dimension] ?? [], before && (before[dimension] ?? []))}
          nameOf={(name) => <bdi>{formatValue(dimension, name)}</bdi>}
          clickCount={value.period.clickCount}
          isCompared={before !== undefined}
        />
      )}
    </section>
  );
};
