/** Entry of the built program: command line, exit code. */
import { main } from './main.ts'

process.exitCode = await main(process.argv.slice(2))
