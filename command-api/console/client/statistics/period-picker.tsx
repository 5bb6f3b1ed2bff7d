import type { ComponentChildren } from 'preact';
import { formatPeriod } from '../../format.js';
import {
  addDays,
  comparedDays,
  type Days,
  intervalsOf,
  presets,
  type StatisticsView,
} from '../../periods.js';
import { texts } from '../../texts.js';
import { useKeys } from '../app/shell.js';
import { Check, Input, Select, withValue, ZoneField } from '../components/field.js';
import { closePopover, Popover } from '../components/popover.js';

interface Props {
  readonly view: StatisticsView;
  readonly onChange: (change: Partial<StatisticsView>) => void;
}

const text = texts.statistics;

type Preset = StatisticsView['preset'];

const keys: Readonly<Partial<Record<Preset, string>>> = {
  today: 'd',
  '7d': 'w',
  month: 'm',
  '12m': 'y',
};

const inWords = ({ from, to }: Days): string => formatPeriod(from, to);

const Presets = ({ view, onChange }: Props) => (
  <div class="choices" role="group" aria-label={text.period}>
    {presets
      .filter((preset) => preset !== 'custom')
      .map((preset) => (
        <button
          key={preset}
          type="button"
          class="quiet small"
          aria-pressed={preset === view.preset}
          aria-keyshortcuts={keys[preset]}
          onClick={({ currentTarget }) => {
            closePopover(currentTarget);
            onChange({ preset });
          }}
        >
          {text.presets[preset]} {keys[preset] && <kbd aria-hidden="true">{keys[preset]}</kbd>}
        </button>
      ))}
  </div>
);

const Calendar = ({ view, onChange }: Props) => {
  // The shown end is inclusive.
  const last = addDays(view.to, -1);
  return (
    <div class="columns">
      <Input
        label={text.from}
        type="date"
        value={view.from}
        max={last}
        onChange={withValue((from) => {
          if (from !== '' && from < view.to) onChange({ preset: 'custom', from });
        })}
      />
      <Input
        label={text.to}
        type="date"
        value={last}
        min={view.from}
        onChange={withValue((day) => {
          if (day >= view.from) onChange({ preset: 'custom', to: addDays(day, 1) });
        })}
      />
    </div>
  );
};

/** The period of statistics, in one panel. @param children filters before it */
export const PeriodPicker = (props: Props & { readonly children: ComponentChildren }) => {
  const { view, onChange, children } = props;
  useKeys(
    ({ key }) => {
      const preset = presets.find((name) => keys[name] === key);
      if (preset !== undefined) onChange({ preset });
    },
    [view],
  );
  const chosen = (
    <>
      <span class="unseen">{text.period}:</span> {text.presets[view.preset]}
    </>
  );
  return (
    <div class="picker">
      {children}
      <Popover label={chosen}>
        <Presets {...props} />
        <Calendar {...props} />
        <Check
          checked={view.compare}
          onChecked={(isChecked) => onChange({ compare: isChecked })}
          label={text.compare}
        />
        <div class="columns">
          <Select
            label={text.interval}
            value={view.interval}
            options={intervalsOf(view).map((name) => [name, text.intervals[name]])}
            onChange={withValue((name) => {
              onChange({ interval: name as StatisticsView['interval'] });
            })}
          />
          <ZoneField value={view.tz} onChange={(tz) => onChange({ tz })} />
        </div>
      </Popover>
      <p class="soft">
        {view.compare
          ? text.comparedWith(inWords(view), inWords(comparedDays(view, new Date())))
          : inWords(view)}
      </p>
    </div>
  );
};
