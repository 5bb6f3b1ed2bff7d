import { useState } from 'preact/hooks';
import { readUtm, utmNames, writeUtm, type UtmValues } from '../../destination.js';
import { texts } from '../../texts.js';
import { Input, withValue } from '../components/field.js';

const text = texts.make;

const storageKey = 'linklog.utm';

/** The values of the last link. */
const readLast = (): UtmValues => {
  try {
    return readUtm(localStorage.getItem(storageKey));
  } catch {
    // Storage is disabled.
    return {};
  }
};

/** Remembers the values, unless there are none. */
export const rememberUtm = (values: UtmValues): void => {
  if (Object.values(values).every((value) => value === '')) return;
  try {
    localStorage.setItem(storageKey, writeUtm(values));
  } catch {
    // Storage is disabled or full: the values are not offered again.
  }
};

interface Props {
  readonly values: UtmValues;
  readonly onChange: (values: UtmValues) => void;
}

/** The campaign parameters of the destination. */
export const UtmFields = ({ values, onChange }: Props) => {
  const [last] = useState(readLast);
  return (
    <details>
      <summary>{text.utm}</summary>
      <div class="stack">
        <p class="hint">{text.utmHint}</p>
        <div class="columns">
          {utmNames.map((name) => (
            <Input
              key={name}
              label={text.utmNames[name]}
              maxLength={200}
              value={values[name] ?? ''}
              onInput={withValue((value) => {
                onChange({ ...values, [name]: value });
              })}
            />
          ))}
        </div>
        {Object.keys(last).length > 0 && (
          <button
            type="button"
            class="small"
            onClick={() => {
              onChange(last);
            }}
          >
            {text.useLast}
          </button>
        )}
      </div>
    </details>
  );
};
