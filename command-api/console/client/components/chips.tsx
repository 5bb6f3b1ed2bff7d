import { texts } from '../../texts.js';

const text = texts.components;

interface Props {
  /** The name and the value of each active filter, and the address without it. */
  readonly chips: readonly (readonly [name: string, value: string, href: string])[];
  /** An address. */
  readonly withoutFilters: string;
}

/** The active filters, each with a link that removes it. */
export const Chips = ({ chips, withoutFilters }: Props) => (
  <p class="row" role="group" aria-label={text.filters}>
    {chips.map(([name, value, href]) => (
      <a key={`${name} ${value}`} class="tag clip" href={href}>
        <span class="unseen">{text.without} </span>
        {name}: <bdi>{value}</bdi> <span aria-hidden="true">✕</span>
      </a>
    ))}
    <a href={withoutFilters}>{text.clearFilters}</a>
  </p>
);
