/** `npm run -s commands`: the command table, as text or, with --json, as data. */
import { commandRows } from './tables.ts'

if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify(commandRows(), null, 2)}\n`)
else
  for (const row of commandRows())
    process.stdout.write(`${row.path}  ${row.flags.map(flag => flag.name).join(' ')}\n`)
