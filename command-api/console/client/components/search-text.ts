import { useLocation } from 'preact-iso/router';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

/** A search starts after this time without input (ms). */
const pauseMs = 300;

/**
 * The props of a text field that follows the address until the user types.
 *
 * @param search called after the user typed another text
 */
export const useText = (value: string, search?: (typed: string) => void) => {
  const [typed, setTyped] = useState(value);
  const { url } = useLocation();
  // A layout effect runs before the user can type. White space at the end is kept for the next word.
  useLayoutEffect(() => setTyped((last) => (last.trim() === value ? last : value)), [value]);
  useEffect(() => {
    if (!search || typed.trim() === value) return undefined;
    const timer = setTimeout(() => search(typed.trim()), pauseMs);
    return () => clearTimeout(timer);
  }, [typed, url]);
  return {
    value: typed,
    onInput: (event: { readonly currentTarget: HTMLInputElement }) => {
      setTyped(event.currentTarget.value);
    },
  };
};
