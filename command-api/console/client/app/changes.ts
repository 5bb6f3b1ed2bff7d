/** Changes of the account, or of the platform, that other sessions make. */
import { createContext } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ConsoleChanges } from '../../../../schemas/http/console.js';
import { send } from './api.js';

/** A change is shown after this time (ms), and up to a second that it takes to be projected. */
const everyMs = 3_000;

interface SeenChanges {
  /** Increases when pages must load their data again. */
  readonly version: number;
  readonly maintenance: ConsoleChanges['maintenance'];
  /** Checks now, after a change of this page. */
  readonly checkNow: () => void;
}

const noChanges: SeenChanges = {
  version: 0,
  maintenance: null,
  checkNow: () => undefined,
};

export const Changes = createContext(noChanges);

/** `null`: there is no session, or the service cannot answer. */
export const readChanges = async (): Promise<ConsoleChanges | null> => {
  const result = await send<ConsoleChanges | undefined>('/session/changes');
  return result.ok ? (result.value ?? null) : null;
};

/**
 * Checks for changes while the page is visible. Does not record a use of the session.
 *
 * @param first read before the data of the pages; `null`: not yet
 * @param onChange called when the data or the maintenance has changed
 */
export const useChanges = (first: ConsoleChanges | null, onChange: () => void): SeenChanges => {
  const [seen, setSeen] = useState(noChanges);
  const last = useRef<ConsoleChanges | null>(null);
  useEffect(() => {
    if (first === null) return undefined;
    last.current ??= first;
    setSeen((before) => ({ ...before, maintenance: first.maintenance }));
    let isChecking = false;
    const check = async (): Promise<void> => {
      if (isChecking || document.visibilityState !== 'visible') return;
      isChecking = true;
      const changes = await readChanges();
      isChecking = false;
      if (changes === null || JSON.stringify(changes) === JSON.stringify(last.current)) return;
      last.current = changes;
      const { maintenance } = changes;
      setSeen(({ version, ...before }) => ({ ...before, version: version + 1, maintenance }));
      onChange();
    };
    const checkNow = (): void => void check();
    setSeen((before) => ({ ...before, checkNow }));
    const timer = setInterval(checkNow, everyMs);
    document.addEventListener('visibilitychange', checkNow);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', checkNow);
    };
  }, [first]);
  return seen;
};
