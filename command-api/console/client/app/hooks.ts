import {
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { withQuery } from '../../link-address.js';
import { callApi, type Failure, type Result } from './api.js';
import { Changes } from './changes.js';

export interface Loaded<Value> {
  /** Stays while the next value is loaded, so that the page does not jump. */
  readonly value: Value | undefined;
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Loads a value, and again when `key` or the data of the account changes. */
export const useLoad = <Value>(
  load: (signal: AbortSignal) => Promise<Result<Value>>,
  key: string,
): Loaded<Value> => {
  const [version, setVersion] = useState(0);
  const [value, setValue] = useState<Value>();
  const [failure, setFailure] = useState<Failure>();
  const [loadedFor, setLoadedFor] = useState('');
  const { version: dataVersion } = useContext(Changes);
  const requested = `${version} ${dataVersion} ${key}`;
  // A layout effect starts before the page is painted, which is slow.
  useLayoutEffect(() => {
    const outdated = new AbortController();
    void load(outdated.signal).then((result) => {
      if (outdated.signal.aborted) return;
      if (result.ok) setValue(() => result.value);
      setFailure(result.ok ? undefined : result.failure);
      setLoadedFor(requested);
    });
    return () => outdated.abort();
  }, [requested]);
  const reload = useCallback(() => setVersion((last) => last + 1), []);
  return { value, failure, isLoading: loadedFor !== requested, reload };
};

/** Loads the response to a GET request. */
export const useApi = <Value>(path: string): Loaded<Value> =>
  useLoad((signal) => callApi<Value>(path, { signal }), path);

/** Loads the page of a list that the query of the address selects. @param query further parameters */
export const useAddressedPage = <Value>(list: string, query = {}): Loaded<Value> =>
  useApi<Value>(withQuery(list, { ...useLocation().query, ...query }));

/** Reloads when the user returns to the page from another tab, unless it is loading. */
export const useReloadOnReturn = ({ isLoading, reload }: Loaded<unknown>): void => {
  useEffect(() => {
    // Another load would drop the current result.
    if (isLoading) return undefined;
    const reloadIfVisible = (): void => {
      if (document.visibilityState === 'visible') reload();
    };
    document.addEventListener('visibilitychange', reloadIfVisible);
    return () => document.removeEventListener('visibilitychange', reloadIfVisible);
  }, [isLoading, reload]);
};

/** Reloads every few seconds. After a failure, the user retries; the message must stay. */
export const useRefresh = ({ failure, reload }: Loaded<unknown>, ms: number): void => {
  useEffect(() => {
    if (failure) return undefined;
    const timer = setInterval(reload, ms);
    return () => clearInterval(timer);
  }, [failure, reload]);
};

/** Scrolls a row of tabs sideways to the active one. Returns the ref of the row. */
export const useTabsInView = (active: string | undefined) => {
  const tabs = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { current: row } = tabs;
    const tab = row?.querySelector<HTMLElement>('[aria-current], [aria-pressed=true]');
    // `scrollIntoView` would also scroll the page. A part of the tab before it stays in view.
    if (row && tab) row.scrollLeft = tab.offsetLeft - row.offsetLeft - 40;
  }, [active]);
  return tabs;
};

export interface ActionState {
  readonly isBusy: boolean;
  readonly failure: Failure | undefined;
  /** Resolves with the value, or `null` on failure, and if `call` returns `null` because nothing is to be sent. */
  readonly run: <Value>(
    call: () => Promise<Result<Value>> | null,
  ) => Promise<{ readonly value: Value } | null>;
}

/** An action of the user. Only one runs at a time. */
export const useAction = (): ActionState => {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const busy = useRef(false);
  const run = useCallback(async <Value>(call: () => Promise<Result<Value>> | null) => {
    if (busy.current) return null;
    const request = call();
    if (request === null) return null;
    busy.current = true;
    setBusy(true);
    const result = await request;
    busy.current = false;
    setBusy(false);
    setFailure(result.ok ? undefined : result.failure);
    return result.ok ? { value: result.value } : null;
  }, []);
  return { isBusy, failure, run };
};

/** The trimmed texts of a form, by field. Empty fields are absent. */
export const fieldsOf = (data: FormData): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    [...data].flatMap(([name, value]) =>
      typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()]] : [],
    ),
  );

/** The submit handler of a form, instead of the browser's. */
export const onSubmit =
  (handle: (data: FormData, form: HTMLFormElement) => Promise<unknown> | undefined) =>
  (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    void handle(new FormData(form), form);
  };
