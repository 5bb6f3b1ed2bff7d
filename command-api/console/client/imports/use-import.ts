import { useEffect, useRef } from 'preact/hooks';
import type { ImportResponse } from '../../../../schemas/http/imports.js';
import { callApi } from '../app/api.js';
import { useLoad, useReloadOnReturn, type Loaded } from '../app/hooks.js';

/** The pause between two calls grows, because each one counts toward the limits of the key (ms). */
const firstPauseMs = 500;
const longestPauseMs = 10_000;
const growth = 1.25;

/** Loads an import again and again while it runs and the page is visible. */
export const useImport = (id: string): Loaded<ImportResponse> => {
  const loaded = useLoad(() => callApi<ImportResponse>(`/v2/imports/${id}`), id);
  useReloadOnReturn(loaded);
  const { value, failure, isLoading, reload } = loaded;
  const pauseMs = useRef(firstPauseMs);
  const isRunning = value?.status === 'running';
  useEffect(() => {
    if (isLoading || !isRunning) return undefined;
    const wait = failure?.kind === 'wait' ? failure.seconds * 1_000 : pauseMs.current;
    pauseMs.current = Math.min(longestPauseMs, pauseMs.current * growth);
    const timer = setTimeout(() => {
      // A hidden page continues when the user returns.
      if (document.visibilityState === 'visible') reload();
    }, wait);
    return () => {
      clearTimeout(timer);
    };
  }, [isLoading, isRunning, failure, reload]);
  return loaded;
};
