/** Entry of the built program `svc`: compile cache, arguments, command, exit code. */
import { enableCompileCache } from 'node:module'
import { processIo } from './io.ts'

enableCompileCache()
const { main } = await import('./main.ts')
process.exitCode = await main(processIo(), process.argv.slice(2))
