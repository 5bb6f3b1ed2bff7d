/**
 * Put before a command, it runs the command with PID 1 in PID and IPC namespaces of its own, as a container does.
 * When `unshare` is killed, the kernel kills all processes of the namespace. Needs root.
 */
export const inContainer: readonly string[] = [
  'unshare',
  '--pid',
  '--ipc',
  '--fork',
  '--kill-child',
  '--mount-proc',
];

/** As `inContainer`, with a network of its own, in which nothing listens. */
export const inContainerWithoutNetwork: readonly string[] = [...inContainer, '--net'];
