/** A run of the program: command line, standard output, exit code. */
import { setGlobalProxyFromEnv } from 'node:http'
import { proxiesIn } from '../../protocol/contract/proxies.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { EXIT_FAILED, outputFault } from '../terminal.ts'
import { main } from './main.ts'

// A reader that goes away, as head does, is no failure of a command, and none of a hub that serves.
process.stdout.on('error', () => undefined)
process.stderr.on('error', () => undefined)
const proxies = proxiesIn(process.env)
// witnesses and other hubs may lie behind it
if (proxies !== undefined) setGlobalProxyFromEnv(proxies)
process.exitCode = await main(process.argv.slice(2))
const fault = await outputFault()
if (fault !== undefined) {
  process.stderr.write(`svc-hub: standard output could not be written: ${wordsOf(fault)}\n`)
  process.exitCode = EXIT_FAILED
}
