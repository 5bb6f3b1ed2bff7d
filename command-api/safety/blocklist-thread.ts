/** The thread that reads large blocklists; see `blocklist.ts`. */
import { constants } from 'node:os';
import { lowerThreadPriority, serveCalls } from '../../ops/platform/concurrency/thread.js';
import { readBlocklist, type BlocklistThread } from './blocklist.js';

lowerThreadPriority(constants.priority.PRIORITY_LOW);
serveCalls<BlocklistThread>({ read: readBlocklist });
