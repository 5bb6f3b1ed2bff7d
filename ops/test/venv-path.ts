import path from 'node:path';
import { projectFile } from '../platform/files/project-file.js';

// `npm run test:setup` installs schemathesis and other Python programs there.
const venv = projectFile('.venv', 'bin');
process.env['PATH'] = `${venv}${path.delimiter}${process.env['PATH'] ?? ''}`;
