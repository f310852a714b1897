/** Entry of the built program `svc`: compile cache, arguments, command, exit code. */
import { enableCompileCache } from 'node:module'
import { compileCacheFolder } from './compile-cache.ts'
import { processIo } from './io.ts'

// The runtime would open a port for a debugger.
process.on('SIGUSR1', () => undefined)
const cache = compileCacheFolder(process.env)
if (cache !== undefined) enableCompileCache(cache)
const { main } = await import('./main.ts')
process.exitCode = await main(processIo(), process.argv.slice(2))
