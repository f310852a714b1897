/** Entry of the built program: command line, exit code. */
import { main } from './main.ts'

// A reader that goes away, as head does, is no failure of a command, and none of a hub that serves.
process.stdout.on('error', () => undefined)
process.stderr.on('error', () => undefined)
process.exitCode = await main(process.argv.slice(2))
