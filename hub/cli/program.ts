/** Entry of the built program: signals first, then everything else. */
import { setGlobalProxyFromEnv } from 'node:http'
import { proxiesIn } from '../../protocol/contract/proxies.ts'
import { startLean } from './lean-start.ts'
import { refuseDebugger, takeEndings } from './signals.ts'

refuseDebugger()
if (process.argv[2] === 'serve') {
  startLean()
  takeEndings()
}
const proxies = proxiesIn(process.env)
// witnesses and other hubs may lie behind it
if (proxies !== undefined) setGlobalProxyFromEnv(proxies)
await import('./run.ts')
