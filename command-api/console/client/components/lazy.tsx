import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Page } from '../app/shell.js';
import { Trouble } from './trouble.js';

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
    const [Component, setComponent] = useState<ComponentType<Props> | null | undefined>(
      () => loaded,
    );
    useEffect(() => {
      if (loaded) return;
      load().then(
        (component) => {
          loaded = component;
          setComponent(() => component);
        },
        () => setComponent(null),
      );
    }, [attempt]);
    if (Component) return <Component {...props} />;
    if (Component === undefined) return <p aria-busy="true" />;
    const trouble = (
      <Trouble
        failure={offline}
        onRetry={() => {
          setComponent(undefined);
          setAttempt(attempt + 1);
        }}
      />
    );
    return title === undefined ? trouble : <Page title={title}>{trouble}</Page>;
  };
};

const offline = { kind: 'offline' } as const;
