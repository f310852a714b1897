/** `npm run -s bench -- [name …] [--json]`: runs measurements and prints each figure beside what it must reach. */
import { readdirSync } from 'node:fs'
import { asksForHelp, headOf } from './lib/help.ts'
import type { Row } from './lib/hub-load.ts'

/** Some figures are told for themselves. */
const goal = ({ target }: Row): string => (Number.isFinite(target) ? ` (must reach ${target})` : '')

const known = readdirSync(new URL('.', import.meta.url))
  .filter(file => file.endsWith('.ts') && file !== 'main.ts')
  .map(file => file.replace('.ts', ''))
const FLAGS = ['--json', '--record']
const given = process.argv.slice(2)
const names = given.filter(argument => !argument.startsWith('-'))
const unknown = given.filter(name => !known.includes(name) && !FLAGS.includes(name))
const listed = () =>
  known.map(name => `  ${name}\n      ${headOf(new URL(`${name}.ts`, import.meta.url))}\n`).join('')

if (asksForHelp(given)) {
  process.stdout.write(
    `npm run -s bench -- [name …] [--json]\n\nWithout a name all of these run:\n${listed()}`,
  )
} else if (unknown.length > 0) {
  process.stderr.write(`bench: there is no ${unknown.join(', ')}; measurements: ${known.join(', ')}\n`)
  process.exitCode = 1
} else {
  const results: (Row & { bench: string })[] = []
  for (const name of names.length > 0 ? names : known) {
    const { run } = (await import(`./${name}.ts`)) as { run(): Promise<Row[]> }
    for (const row of await run()) {
      results.push({ bench: name, ...row })
      if (!process.argv.includes('--json')) {
        process.stdout.write(
          `${row.ok ? 'ok  ' : 'MISS'} ${name}: ${row.name}: ${row.value} ${row.unit}${goal(row)}\n`,
        )
      }
    }
  }
  if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`)
}
