import { isLinkEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import { evolveLink, noLink, type LinkState } from '../../schemas/folds/link.js';
import { rowOfState, stateOfRow, type RedirectRow } from '../../schemas/read-models/redirects.js';
import type { Projection } from '../runtime/projection.js';
import { readRows, writeRows } from './rows.js';

/** Where each short code leads, or why it no longer does. */
export const redirects: Projection = {
  name: 'redirects',
  topics: [topics.links.name],
  async apply(tx, schema, events) {
    const linkEvents = events.filter(isLinkEvent);
    const codes = new Set(linkEvents.map(({ subject }) => subject));
    const known = await readRows(tx, schema, [...codes]);
    const folded = new Map<string, { readonly state: LinkState; readonly sequence: number }>();
    for (const event of linkEvents) {
      const { subject, sequence } = event;
      const row = known.get(subject);
      const before = folded.get(subject)?.state ?? (row ? stateOfRow(row) : noLink);
      folded.set(subject, { state: evolveLink(before, event), sequence });
    }
    const rows = [...folded.values()]
      .map(({ state, sequence }) => rowOfState(state, sequence))
      .filter((row): row is RedirectRow => row !== null);
    await writeRows(tx, schema, rows);
  },
};
