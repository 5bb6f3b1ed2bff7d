import type {
  ComponentChildren,
  InputHTMLAttributes,
  JSX,
  SelectHTMLAttributes,
  TextareaHTMLAttributes,
} from 'preact';
import { useId, useState } from 'preact/hooks';
import { ownZoneOf } from '../../format.js';
import { texts } from '../../texts.js';

interface Labelled {
  readonly label: string;
  readonly hint?: ComponentChildren;
}

interface Props extends Labelled {
  readonly children: (control: { readonly id: string; 'aria-describedby'?: string }) => JSX.Element;
}

export const Field = ({ label, hint, children }: Props) => {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(hint === undefined ? { id } : { id, 'aria-describedby': `${id}-hint` })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
};

type InputProps = InputHTMLAttributes & Labelled;

export const Input = ({ label, hint, ...rest }: InputProps) => (
  <Field label={label} hint={hint}>
    {(control) => <input autocomplete="off" {...rest} {...control} />}
  </Field>
);

/** A field for a URL, also without scheme. */
export const UrlInput = (props: InputProps) => (
  <Input inputMode="url" maxLength={2_048} {...props} />
);

export const TextArea = ({ label, hint, ...rest }: TextareaHTMLAttributes & Labelled) => (
  <Field label={label} hint={hint}>
    {(control) => <textarea {...rest} {...control} />}
  </Field>
);

type SelectProps = SelectHTMLAttributes &
  Labelled & { readonly options: readonly (readonly [value: string, text: string])[] };

export const Select = ({ label, hint, options, value, ...rest }: SelectProps) => (
  <Field label={label} hint={hint}>
    {(control) => (
      <select {...rest} {...control}>
        {options.map(([option, text]) => (
          <option key={option} value={option} selected={option === value}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
);

interface CheckProps {
  readonly label: ComponentChildren;
  readonly name?: string;
  readonly value?: string;
  readonly checked?: boolean;
  readonly defaultChecked?: boolean;
  readonly 'aria-disabled'?: boolean;
  readonly onChecked?: (isChecked: boolean) => void;
}

export const Check = ({ label, onChecked, ...rest }: CheckProps) => (
  <label class="check">
    <input
      {...rest}
      type="checkbox"
      onChange={(event) => onChecked?.(event.currentTarget.checked)}
    />
    {label}
  </label>
);

/** An event handler that takes the value of its field. */
export const withValue =
  (handle: (value: string) => void) =>
  (event: { readonly currentTarget: { readonly value: string } }): void => {
    handle(event.currentTarget.value);
  };

interface ZoneProps {
  readonly label?: string;
  readonly value: string;
  readonly onChange: (tz: string) => void;
}

/** The list of zones is loaded on demand, because that can take 0.25 s. */
export const ZoneField = ({ label = texts.components.timeZone, value, onChange }: ZoneProps) => {
  const [zones, setZones] = useState<readonly string[]>([]);
  // Both events are before the list opens.
  const fill = (): void => {
    setZones((known) => (known.length > 0 ? known : Intl.supportedValuesOf('timeZone')));
  };
  return (
    <Select
      label={label}
      value={value}
      options={[...new Set([value, 'UTC', ownZoneOf(), ...zones])].map((zone) => [
        zone,
        zone.replaceAll('_', ' '),
      ])}
      onFocus={fill}
      onPointerDown={fill}
      onChange={withValue(onChange)}
    />
  );
};
