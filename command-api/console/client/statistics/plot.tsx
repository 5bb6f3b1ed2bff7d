import { useState } from 'preact/hooks';
import { formatNumber } from '../../locale.js';
import { texts } from '../../texts.js';

interface Props {
  readonly title: string;
  readonly labels: readonly string[];
  readonly clicks: readonly number[];
  /** The same of the compared period, by interval of this one. */
  readonly before:
    readonly ({ readonly label: string; readonly clicks: number } | null)[] | undefined;
  /** Called with the index of the clicked interval. */
  readonly onPick: ((index: number) => void) | undefined;
}

/** Fewer intervals do not fill the width. */
const minColumns = 12;
const maxLines = 5;
const maxLabels = 6;

/** The distance of grid lines: 1, 2 or 5 with zeros. */
const stepOf = (most: number): number => {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(most / maxLines)));
  return power * ([1, 2, 5].find((factor) => most / (factor * power) <= maxLines) ?? 10);
};

const percent = (part: number, whole: number): string => `${(100 * part) / whole}%`;

/** Numbers from 0 to an end. */
const every = (step: number, end: number): readonly number[] =>
  Array.from({ length: Math.ceil(end / step) }, (_, index) => index * step);

/** The clicks of a period as bars, those of the compared period as a line. */
export const Plot = ({ title, labels, clicks, before, onPick }: Props) => {
  const [pointed, setPointed] = useState<number>();
  const count = labels.length;
  const columns = Math.max(minColumns, count);
  /** Few intervals are in the middle. */
  const first = (columns - count) / 2;
  const most =
    1.05 * Math.max(4, ...clicks, ...(before ?? []).map((earlier) => earlier?.clicks ?? 0));
  const labelled = every(Math.ceil(count / maxLabels), count);
  const line = before?.map(
    (earlier, index) =>
      earlier && `${before[index - 1] ? 'L' : 'M'}${first + index + 0.5} ${most - earlier.clicks}`,
  );
  const { clicksAt } = texts.statistics;
  const tip = (index: number): string => {
    const earlier = before?.[index];
    return [
      clicksAt(labels[index] ?? '', clicks[index] ?? 0),
      ...(earlier ? [clicksAt(earlier.label, earlier.clicks)] : []),
    ].join('\n');
  };
  return (
    <div class="plot" role="img" aria-label={title}>
      <div
        onPointerMove={({ currentTarget, clientX }) => {
          const { left, width } = currentTarget.getBoundingClientRect();
          const index = Math.floor(((clientX - left) / width) * columns - first);
          setPointed(index in labels ? index : undefined);
        }}
        onPointerLeave={() => setPointed(undefined)}
        onClick={() => pointed !== undefined && onPick?.(pointed)}
      >
        {every(stepOf(most), most).map((value) => (
          <div key={value} class="line" style={{ bottom: percent(value, most) }}>
            <span>{formatNumber(value)}</span>
          </div>
        ))}
        <svg viewBox={`0 0 ${columns} ${most}`} preserveAspectRatio="none">
          {clicks.map((height, index) => (
            <rect
              key={index}
              x={first + index + 0.125}
              y={most - height}
              width={0.75}
              height={height}
            />
          ))}
          {line && <path d={line.join('')} vector-effect="non-scaling-stroke" />}
        </svg>
        {labelled.map((index) => (
          <span
            key={index}
            class="soft label"
            style={{
              left: percent(first + index, columns),
              width: percent(labelled[1] ?? count, columns),
            }}
          >
            {labels[index]}
          </span>
        ))}
        {pointed !== undefined && (
          <div
            class="tip"
            // On the side with more space.
            style={{
              [2 * pointed < count ? 'left' : 'right']: percent(
                2 * pointed < count ? first + pointed + 1 : columns - first - pointed,
                columns,
              ),
            }}
          >
            {tip(pointed)}
          </div>
        )}
      </div>
    </div>
  );
};
