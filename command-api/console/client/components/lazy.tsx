import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { texts } from '../../texts.js';
import type { Failure } from '../app/api.js';
import { Page } from '../app/shell.js';
import { Trouble } from './trouble.js';

const text = texts.components;

const offline: Failure = { kind: 'offline' };
/** A new version of the service has files of other names. */
const replaced: Failure = { kind: 'refused', message: text.newVersion, status: 0 };

/** Why a file cannot be loaded. */
const failureOf = (): Promise<Failure> =>
  fetch(location.href, { method: 'HEAD' }).then(
    ({ ok }) => (ok ? replaced : offline),
    () => offline,
  );

/**
 * A component of a separate file, which is loaded when it is shown first.
 *
 * @param title of a page that cannot be loaded; absent: the component is a part of a page
 */
export const lazy = <Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  title?: string,
) => {
  let loaded: ComponentType<Props> | undefined;
  return (props: Props) => {
    const [attempt, setAttempt] = useState(0);
    const [Component, setComponent] = useState<ComponentType<Props> | undefined>(() => loaded);
    const [failure, setFailure] = useState<Failure>();
    useEffect(() => {
      if (loaded) return;
      load().then(
        (component) => {
          loaded = component;
          setComponent(() => component);
        },
        () => void failureOf().then(setFailure),
      );
    }, [attempt]);
    if (Component) return <Component {...props} />;
    if (failure === undefined) return <p aria-busy="true" />;
    const trouble = (
      <Trouble
        failure={failure}
        onRetry={() => {
          if (failure === replaced) {
            location.reload();
            return;
          }
          setFailure(undefined);
          setAttempt(attempt + 1);
        }}
      />
    );
    return title === undefined ? trouble : <Page title={title}>{trouble}</Page>;
  };
};

/** Pages of a separate file, by the names of their components. */
export const lazyPages =
  <Name extends string>(load: () => Promise<Readonly<Record<Name, ComponentType>>>) =>
  /** @param title the name in the menu; absent: other pages link to the page */
  (name: Name, title?: string) => ({
    ...(title !== undefined && { title }),
    component: lazy(async () => (await load())[name], title ?? text.notLoaded),
  });
