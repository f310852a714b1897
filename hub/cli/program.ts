/** Entry of the built program: signals first, then everything else. */
import { refuseDebugger, takeEndings } from './signals.ts'

refuseDebugger()
if (process.argv[2] === 'serve') takeEndings()
await import('./run.ts')
