import { useState } from 'preact/hooks';
import type { LinkDetails } from '../../../../schemas/http/links.js';
import { ownZoneOf } from '../../format.js';
import { endChoices, maxOf, suggestedEnd, units, type Unit } from '../../link-end.js';
import { toLocalTime } from '../../rules-form.js';
import { texts } from '../../all-texts.js';
import { Input, Select, withValue } from './field.js';

const { common, components, link: text } = texts;

const choices = [
  [endChoices.never, components.never],
  ['3600', components.inAnHour],
  ['86400', components.inADay],
  ['604800', components.inAWeek],
  ['2592000', components.in30Days],
  ['31536000', components.inAYear],
  [endChoices.period, text.afterPeriod],
  [endChoices.time, text.atTime],
] as const;

const unitNames = (Object.keys(units) as Unit[]).map((unit) => [unit, text.units[unit]] as const);

interface Props {
  /** Absent for a new link. */
  readonly link?: LinkDetails;
}

/** When a link starts and ends: the fields that `link-end.ts` reads. */
const EndFields = ({ link }: Props) => {
  const expiresAt = link?.expiresAt ?? null;
  const [choice, setChoice] = useState<string>(
    expiresAt === null ? endChoices.never : endChoices.time,
  );
  const [unit, setUnit] = useState<Unit>('days');
  return (
    <>
      <Input
        label={text.starts}
        name="startsAt"
        type="datetime-local"
        max="9999-12-31T23:59"
        defaultValue={toLocalTime(link?.startsAt ?? undefined)}
        hint={text.startsHint}
      />
      <Select
        label={common.expires}
        name="ends"
        value={choice}
        options={choices}
        onChange={withValue(setChoice)}
      />
      {choice === endChoices.period && (
        <>
          <Input
            label={components.period}
            name="endsIn"
            type="number"
            required
            min={1}
            max={maxOf(unit)}
            defaultValue={30}
          />
          <Select
            label={text.unit}
            name="endsUnit"
            value={unit}
            options={unitNames}
            onChange={withValue((value) => setUnit(value as Unit))}
          />
        </>
      )}
      {choice === endChoices.time && (
        <Input
          label={text.endsAt}
          name="endsAt"
          type="datetime-local"
          required
          max="9999-12-31T23:59"
          defaultValue={toLocalTime(expiresAt ?? undefined) || suggestedEnd()}
          hint={common.ownZone(ownZoneOf())}
        />
      )}
    </>
  );
};

/** When a link redirects, how often, and for whom. */
export const LimitFields = ({ link }: Props) => (
  <div class="columns">
    <EndFields key={link?.expiresAt} {...(link && { link })} />
    <Input
      label={text.clickLimit}
      name="maxClicks"
      type="number"
      min={Math.max(1, link?.clickCount ?? 1)}
      max={1e9}
      defaultValue={link?.maxClicks ?? ''}
      hint={link && text.clickLimitHint}
    />
    <Input
      label={link?.hasPassword === true ? text.newPassword : common.password}
      name="password"
      type="password"
      autocomplete="new-password"
      minLength={4}
      maxLength={100}
      hint={link?.hasPassword === true ? text.unchangedHint : text.passwordHint}
    />
  </div>
);
