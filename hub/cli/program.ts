/** Entry of the built program: signals first, then everything else. */
import { startLean } from './lean-start.ts'
import { refuseDebugger, takeEndings } from './signals.ts'

refuseDebugger()
if (process.argv[2] === 'serve') {
  startLean()
  takeEndings()
}
await import('./run.ts')
