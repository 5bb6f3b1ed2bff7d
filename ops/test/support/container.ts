/**
 * Command prefix that runs a program as PID 1 in new PID and IPC namespaces, like a container. When `unshare` is
 * killed, the kernel kills all processes of the namespace. Needs root.
 */
const inContainer: readonly string[] = [
  'unshare',
  '--pid',
  '--ipc',
  '--fork',
  '--kill-child',
  '--mount-proc',
];

/** `inContainer` with a new network namespace, in which no process listens. */
export const inContainerWithoutNetwork: readonly string[] = [...inContainer, '--net'];
