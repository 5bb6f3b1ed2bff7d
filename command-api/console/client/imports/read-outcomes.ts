import type { ImportedRow } from '../../../../schemas/http/imports.js';
import { OutcomeParser } from '../../import-outcomes.js';
import { openStream, withSession, type Result } from '../app/api.js';

export const outcomesPath = (id: string): string => `/v2/imports/${id}/rows`;

/**
 * Reads the outcomes of an import while they arrive.
 *
 * @param onRows returns whether to read on
 */
export const readOutcomes = async (
  id: string,
  onRows: (rows: readonly ImportedRow[]) => boolean,
): Promise<Result<null>> => {
  const connection = new AbortController();
  const opened = await withSession(() => openStream(outcomesPath(id), {}, connection.signal));
  if (!opened.ok) return opened;
  const parser = new OutcomeParser();
  const reader = opened.value.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done || !onRows(parser.push(value))) break;
    }
    return { ok: true, value: null, status: opened.status };
  } catch {
    // The connection was lost.
    return { ok: false, failure: { kind: 'offline' } };
  } finally {
    connection.abort();
  }
};
