/** Entry of the built program: runs the command line and leaves with its exit code. */
import { main } from './main.ts'

process.exitCode = await main(process.argv.slice(2))
