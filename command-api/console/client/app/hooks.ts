import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Answer, Failure } from './api.js';

export interface Loaded<Value> {
  /** Stays while the next one is loaded, so that a page does not jump. */
  readonly value: Value | undefined;
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** What `load` gives, loaded again whenever `key` changes. */
export const useLoad = <Value>(load: () => Promise<Answer<Value>>, key: string): Loaded<Value> => {
  const [turn, setTurn] = useState(0);
  const [value, setValue] = useState<Value>();
  const [failure, setFailure] = useState<Failure>();
  const [loadedFor, setLoadedFor] = useState('');
  const wanted = `${turn} ${key}`;
  // Before the page is painted, which takes a slow processor a while.
  useLayoutEffect(() => {
    let isCurrent = true;
    void load().then((answer) => {
      if (!isCurrent) return;
      if (answer.ok) setValue(() => answer.value);
      setFailure(answer.ok ? undefined : answer.failure);
      setLoadedFor(wanted);
    });
    return () => {
      isCurrent = false;
    };
  }, [wanted]);
  const reload = useCallback(() => {
    setTurn((last) => last + 1);
  }, []);
  return { value, failure, isLoading: loadedFor !== wanted, reload };
};

/** Loads again when a person comes back to the page from another tab, but not while it is loading. */
export const useReloadOnReturn = ({ isLoading, reload }: Loaded<unknown>): void => {
  useEffect(() => {
    // Another load would drop the answer of this one.
    if (isLoading) return undefined;
    const look = (): void => {
      if (document.visibilityState === 'visible') reload();
    };
    document.addEventListener('visibilitychange', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
    };
  }, [isLoading, reload]);
};

export interface Action {
  readonly isBusy: boolean;
  readonly failure: Failure | undefined;
  /** Resolves with the value, or `null` where it failed: then `failure` says how. */
  readonly run: <Value>(
    call: () => Promise<Answer<Value>>,
  ) => Promise<{ readonly value: Value } | null>;
}

/** Something a person starts, one at a time. */
export const useAction = (): Action => {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const busy = useRef(false);
  const run = useCallback(async <Value>(call: () => Promise<Answer<Value>>) => {
    if (busy.current) return null;
    busy.current = true;
    setBusy(true);
    const answer = await call();
    busy.current = false;
    setBusy(false);
    setFailure(answer.ok ? undefined : answer.failure);
    return answer.ok ? { value: answer.value } : null;
  }, []);
  return { isBusy, failure, run };
};

/** The texts of a form by the names of its fields, trimmed; fields left empty are not there. */
export const fieldsOf = (form: HTMLFormElement): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    [...new FormData(form)].flatMap(([name, value]) =>
      typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()]] : [],
    ),
  );

/** The handler of a form: nothing but this is done with what it holds. */
export const onSubmit =
  (handle: (form: HTMLFormElement) => Promise<unknown> | undefined) =>
  (event: SubmitEvent): void => {
    event.preventDefault();
    void handle(event.currentTarget as HTMLFormElement);
  };
