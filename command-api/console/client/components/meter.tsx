import { useId } from 'preact/hooks';
import { formatNumber } from '../../numbers.js';
import { texts } from '../../texts.js';

const text = texts.components;

interface Props {
  readonly label: string;
  readonly used: number;
  /** `null`: no limit. */
  readonly limit: number | null;
  /** Describes what happens at the limit. */
  readonly atLimit: string;
}

export const Meter = ({ label, used, limit, atLimit }: Props) => {
  const id = useId();
  const share = limit === null ? 0 : limit === 0 ? 1 : used / limit;
  return (
    <div class="card quota">
      <h3 id={id}>{label}</h3>
      <p class="figure">
        {formatNumber(used)}{' '}
        <span class="soft">{text.of(limit === null ? text.anyNumber : formatNumber(limit))}</span>
      </p>
      {limit !== null && (
        <meter
          aria-labelledby={id}
          min={0}
          max={1}
          low={0.8}
          high={0.999}
          optimum={0}
          value={Math.min(1, share)}
        />
      )}
      <p class="hint">{limit === null ? text.noLimit : atLimit}</p>
    </div>
  );
};
